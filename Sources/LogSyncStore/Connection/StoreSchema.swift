import LogSyncModel
import LogSyncState

/// The tables that logsync keeps in a store. Their SQL keeps to what SQLite 3.8 reads.
enum StoreSchema {
    /// Raised when an older logsync could no longer work with the tables; an older binary then refuses the store.
    static let formatVersion: Int64 = 8

    /// Stands in place of the format as long as the database is being made a store, or a plain database again, in many
    /// transactions. To an older logsync it is a newer one's, which it leaves alone.
    static let unfinishedFormat = Int64.max

    static let facts = "CREATE TABLE logsync_store(key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;"

    static let sql = """
        -- Facts about this store: who it is, where its container is.
        \(facts)
        -- Every peer known here. Clock records name peers by number.
        CREATE TABLE logsync_peer(
            number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE,
            sequence INTEGER NOT NULL DEFAULT 0,  -- imported up to here: the version vector
            chain BLOB,                           -- its chain hash there
            declared INTEGER NOT NULL DEFAULT 0,  -- its sequence in the dependencies of our last transaction
            accepts_clock INTEGER NOT NULL DEFAULT 0,
            joined INTEGER NOT NULL DEFAULT 0,    -- up to here a snapshot brought it
            files INTEGER,                        -- its log files whose ends were compared with what was imported
            sent INTEGER NOT NULL DEFAULT 0);     -- up to here its transactions in the outbox are published
        -- The dependencies of each peer's last imported transaction.
        CREATE TABLE logsync_dependency(
            peer INTEGER NOT NULL, other INTEGER NOT NULL, sequence INTEGER NOT NULL,
            PRIMARY KEY(peer, other)) WITHOUT ROWID;
        CREATE TABLE logsync_table(
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
            log_name TEXT NOT NULL,               -- as logs have it: its first name, whatever it is called here by now
            identity TEXT NOT NULL, key_columns TEXT,  -- by their names in logs
            shape TEXT);                          -- how its clock records are laid out
        -- Stable column ids: a column keeps its id through renames; ids are not used again.
        CREATE TABLE logsync_column(
            table_id INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL, log_name TEXT NOT NULL,
            type TEXT NOT NULL, ordinal INTEGER NOT NULL, dropped INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY(table_id, id)) WITHOUT ROWID;
        -- Encoded transactions of this peer (and of those it was before).
        CREATE TABLE logsync_outbox(
            peer INTEGER NOT NULL, sequence INTEGER NOT NULL, chain_before BLOB NOT NULL, chain BLOB NOT NULL,
            byte_count INTEGER NOT NULL, published INTEGER NOT NULL DEFAULT 0,
            bytes BLOB,                           -- its blocks, where they are few bytes; else they are below
            PRIMARY KEY(peer, sequence)) WITHOUT ROWID;
        CREATE TABLE logsync_outbox_block(
            peer INTEGER NOT NULL, sequence INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL,
            PRIMARY KEY(peer, sequence, part));
        -- The history: every transaction recorded or imported here.
        CREATE TABLE logsync_transaction(
            token INTEGER PRIMARY KEY, peer INTEGER NOT NULL, sequence INTEGER NOT NULL, time INTEGER NOT NULL,
            author TEXT, context TEXT, changes TEXT NOT NULL,
            mark INTEGER,                         -- the start of the peer's chain hash there
            dependencies BLOB,                    -- what moved in its dependencies, as it named it
            rows BLOB);                           -- the rows that it changed here, until they are forgotten
        CREATE UNIQUE INDEX logsync_transaction_dot ON logsync_transaction(peer, sequence);
        \(history)
        \(subscriptions)
        \(branches)
        \(blobs)
        \(scanCache)
        \(receipts)
        \(shown)
        -- Integers reserved to rows that have not come: references that dangle.
        CREATE TABLE logsync_reserved(
            table_id INTEGER NOT NULL, integer INTEGER NOT NULL, identity BLOB NOT NULL,
            PRIMARY KEY(table_id, integer)) WITHOUT ROWID;
        CREATE INDEX logsync_reserved_identity ON logsync_reserved(identity);
        -- Rows that do not stand in a table of this store: parked, dead with edits left, or of an unknown table.
        CREATE TABLE logsync_kept(
            id INTEGER PRIMARY KEY, table_name TEXT NOT NULL, identity BLOB NOT NULL, state TEXT NOT NULL,
            reason TEXT, clock BLOB NOT NULL, integer INTEGER,
            folded BLOB,                          -- the identity of the row that shows in its place
            -- What keeps it out as long as nothing there changes: the row of a table by number with its mark, or one
            -- that does not stand by identity. NULL where it has to be decided again each time.
            waits_table INTEGER, waits_row INTEGER, waits_mark INTEGER, waits_identity BLOB);
        CREATE UNIQUE INDEX logsync_kept_row ON logsync_kept(table_name, identity);
        CREATE INDEX logsync_kept_state ON logsync_kept(state, table_name);
        CREATE INDEX logsync_kept_waits_row ON logsync_kept(waits_table, waits_row) WHERE waits_row IS NOT NULL;
        CREATE INDEX logsync_kept_waits_identity ON logsync_kept(waits_identity) WHERE waits_identity IS NOT NULL;
        CREATE INDEX logsync_kept_folded ON logsync_kept(folded) WHERE folded IS NOT NULL;
        -- Settings of the content: replicated like any row.
        CREATE TABLE logsync_setting(
            kind TEXT NOT NULL, target TEXT NOT NULL, value TEXT, PRIMARY KEY(kind, target));
        """

    static let branches = """
        -- What peers had seen where they stood at logsync_peer.joined.
        CREATE TABLE logsync_joined(
            peer INTEGER NOT NULL, other INTEGER NOT NULL, sequence INTEGER NOT NULL,
            PRIMARY KEY(peer, other)) WITHOUT ROWID;
        -- Parts of a peer's history that go by another id, because two stores wrote under the peer's.
        CREATE TABLE logsync_branch(
            number INTEGER PRIMARY KEY, origin INTEGER NOT NULL, start INTEGER NOT NULL, mark INTEGER NOT NULL,
            parent INTEGER NOT NULL, kept INTEGER NOT NULL);
        -- Marks that a snapshot brought.
        CREATE TABLE logsync_mark(
            peer INTEGER NOT NULL, sequence INTEGER NOT NULL, mark INTEGER NOT NULL,
            PRIMARY KEY(peer, sequence)) WITHOUT ROWID;
        """

    /// Large values outside logs; from format 3 on.
    static let blobs = """
        -- Large values that this peer recorded or put into a snapshot, by the SHA-256 of their bytes.
        CREATE TABLE logsync_blob(
            id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, length INTEGER NOT NULL,
            waits INTEGER NOT NULL DEFAULT 0,      -- its bytes are kept below until their file has been read back
            published INTEGER NOT NULL DEFAULT 0,  -- this peer's folder holds it
            -- A cell that held the bytes.
            table_name TEXT NOT NULL, identity BLOB NOT NULL, column_name TEXT NOT NULL);
        CREATE TABLE logsync_blob_part(
            blob INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY(blob, part));
        -- The blobs that transactions in the outbox name.
        CREATE TABLE logsync_outbox_blob(
            peer INTEGER NOT NULL, sequence INTEGER NOT NULL, blob INTEGER NOT NULL,
            PRIMARY KEY(peer, sequence, blob)) WITHOUT ROWID;
        """

    /// Made when it is first needed in a store that is older.
    static let scanCache = """
        -- What was found in peers' folders, for the next process to go by where nothing has changed.
        CREATE TABLE IF NOT EXISTS logsync_look(peer BLOB PRIMARY KEY NOT NULL, found BLOB NOT NULL);
        """

    static let history = """
        -- The rows that changed here without a transaction: why, by which peer's transaction and when. Up to format 7
        -- also those of the transaction of that token, without a cause.
        CREATE TABLE IF NOT EXISTS logsync_history(
            token INTEGER PRIMARY KEY, rows BLOB NOT NULL, cause TEXT, peer INTEGER, sequence INTEGER, time INTEGER);
        """

    /// Made when it is first needed in a store that is older.
    static let subscriptions = """
        -- Conditions that are told of; see Subscriptions.swift.
        CREATE TABLE IF NOT EXISTS logsync_subscription(
            name TEXT PRIMARY KEY NOT NULL, table_name TEXT NOT NULL, condition TEXT NOT NULL,
            events INTEGER NOT NULL,               -- 1: enters, 2: leaves, 4: changes; their sum
            is_local INTEGER NOT NULL,             -- changes of this store's own programs are told, too
            command TEXT, is_program INTEGER NOT NULL,
            served INTEGER NOT NULL,               -- up to which token of the history
            trouble TEXT) WITHOUT ROWID;           -- why it cannot be looked at
        -- The rows that are within them: as what they are told apart by, and their keys.
        CREATE TABLE IF NOT EXISTS logsync_member(
            subscription TEXT NOT NULL, identity BLOB NOT NULL, row_key BLOB NOT NULL,
            PRIMARY KEY(subscription, identity)) WITHOUT ROWID;
        -- What they have to tell, until it is told.
        CREATE TABLE IF NOT EXISTS logsync_firing(
            id INTEGER PRIMARY KEY, subscription TEXT NOT NULL, event TEXT NOT NULL, token INTEGER NOT NULL,
            keys BLOB NOT NULL, truncated INTEGER NOT NULL);
        """

    /// Made when it is first needed in a store that is older.
    static let receipts = """
        -- The highest counter that was read in any receipt of another peer.
        CREATE TABLE IF NOT EXISTS logsync_receipt(peer BLOB PRIMARY KEY NOT NULL, counter INTEGER NOT NULL);
        """

    /// What is made when it is first needed.
    static let later = [undecided, dropped, left, tombstones]

    static let undecided = """
        -- What rows held in columns of which it is to be decided what they are, as digests.
        CREATE TABLE IF NOT EXISTS logsync_undecided(
            table_id INTEGER NOT NULL, column TEXT NOT NULL, identity BLOB NOT NULL, digest INTEGER NOT NULL,
            PRIMARY KEY(table_id, column, identity)) WITHOUT ROWID;
        """

    static let left = """
        -- What parked rows held in columns that are left alone.
        CREATE TABLE IF NOT EXISTS logsync_left(
            table_id INTEGER NOT NULL, identity BLOB NOT NULL, column TEXT NOT NULL, value,
            inserts TEXT NOT NULL,                 -- by which the row was there
            PRIMARY KEY(table_id, identity, column)) WITHOUT ROWID;
        """

    static let dropped = """
        -- What rows of tables held that are not here any more.
        CREATE TABLE IF NOT EXISTS logsync_dropped(
            table_name TEXT NOT NULL, identity BLOB NOT NULL,
            integer INTEGER,                       -- NULL where it was not local to this store
            digests BLOB NOT NULL,                 -- by column, 4 bytes each
            deleted INTEGER NOT NULL,              -- whether its program had deleted it before the table went
            PRIMARY KEY(table_name, identity)) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS logsync_dropped_integer ON logsync_dropped(table_name, integer);
        CREATE INDEX IF NOT EXISTS logsync_dropped_digests ON logsync_dropped(table_name, digests);
        """

    static let tombstones = """
        -- Rows that other peers have deleted of tables that are not here.
        CREATE TABLE IF NOT EXISTS logsync_tombstone(
            number INTEGER PRIMARY KEY, table_name TEXT NOT NULL, identity BLOB NOT NULL, UNIQUE(table_name, identity));
        """

    /// The keys under which rows stand whose own keys name a folded row; from format 4 on.
    static let shown = """
        CREATE TABLE logsync_shown(
            table_id INTEGER NOT NULL, row INTEGER NOT NULL,
            identity BLOB NOT NULL,                -- the one that the key spells under which the row stands
            PRIMARY KEY(table_id, row)) WITHOUT ROWID;
        CREATE INDEX logsync_shown_identity ON logsync_shown(identity);
        """

    /// Of a peer's row, which stands in the query as `logsync_peer`: up to where its transactions in the outbox are published.
    static let sent = """
        max(sent, coalesce(
            (SELECT sequence - 1 FROM logsync_outbox
                WHERE peer = logsync_peer.number AND sequence > logsync_peer.sent AND NOT published
                ORDER BY sequence LIMIT 1),
            (SELECT max(sequence) FROM logsync_outbox WHERE peer = logsync_peer.number), 0))
        """

    /// Tables that every store of this format has, beside those of each tracked table.
    static let everyStores: Set<String> = [
        "logsync_peer", "logsync_dependency", "logsync_table", "logsync_column", "logsync_outbox",
        "logsync_outbox_block",
        "logsync_transaction", "logsync_history", "logsync_reserved", "logsync_kept", "logsync_setting",
        "logsync_branch", "logsync_mark",
        "logsync_blob", "logsync_blob_part", "logsync_outbox_blob",
    ]

    /// The clock records of one tracked table, and the digests of unique keys where it needs them.
    static func clockTable(_ id: Int64, hasUniqueDigests: Bool) -> String {
        var sql = """
            CREATE TABLE logsync_clock_\(id)(
                row INTEGER PRIMARY KEY, identity BLOB, peer INTEGER NOT NULL, sequence INTEGER NOT NULL,
                time INTEGER NOT NULL, digest INTEGER NOT NULL, digests BLOB NOT NULL, extra BLOB,
                uniques BLOB,       -- the digests of unique keys; the natural key where that alone has a digest
                conflict INTEGER);  -- 1: contested; 2: a reference shows something else; 4: breaks a CHECK
            CREATE UNIQUE INDEX logsync_clock_\(id)_identity ON logsync_clock_\(id)(identity)
                WHERE identity IS NOT NULL;
            CREATE INDEX logsync_clock_\(id)_conflict ON logsync_clock_\(id)(conflict) WHERE conflict IS NOT NULL;
            """
        if hasUniqueDigests { sql += "\n" + uniqueTable(id) }
        return sql
    }

    /// The digests of one tracked table's unique keys.
    static func uniqueTable(_ id: Int64) -> String {
        """
        CREATE TABLE logsync_unique_\(id)(
            digest INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY(digest, row)) WITHOUT ROWID;
        """
    }
}
