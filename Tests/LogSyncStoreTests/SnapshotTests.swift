import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

@Suite struct SnapshotTests {
    let folder: TestFolder

    static let schema = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE album(id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT, artist INTEGER REFERENCES artist(id));
        CREATE TABLE tree(id INTEGER PRIMARY KEY, up INTEGER REFERENCES tree(id), next INTEGER REFERENCES tree(id));
        CREATE TABLE word(id TEXT PRIMARY KEY, meaning TEXT, weight REAL);
        CREATE TABLE pair(artist INTEGER REFERENCES artist(id), word TEXT, note BLOB, PRIMARY KEY(artist, word))
            WITHOUT ROWID;
        """

    static let rows = """
        INSERT INTO artist VALUES (3, 'Ella'), (7, 'Nina'), (9, NULL);
        INSERT INTO album VALUES (1, 'x', 7), (2, 'y', 3), (50, 'z', NULL);
        DELETE FROM album WHERE id = 50;
        INSERT INTO tree VALUES (1, NULL, 2), (2, 1, 3), (3, 1, 4), (4, 3, NULL);
        INSERT INTO word VALUES ('a', 'first', 1), ('b', NULL, 2.5), ('c', '', -0.0);
        INSERT INTO pair VALUES (3, 'a', x'00ff'), (7, 'a', NULL), (7, 'b', 'text');
        """

    init() throws { folder = try TestFolder() }

    @Test func aStoreMadeOfASnapshotIsLikeOneMadeOfTheLogs() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + Self.rows)
        try a.write(
            "UPDATE word SET meaning = 'second' WHERE id = 'b'; UPDATE artist SET name = 'Ella F.' WHERE id = 3")
        let snapshot = try a.snapshot()
        let b = try TestPeer(folder, "b", filling: snapshot, from: a)
        for table in ["artist", "album", "tree", "word", "pair"] {
            let query = "SELECT * FROM \(table) ORDER BY 1, 2"
            #expect(try b.strings(query) == a.strings(query), "\(table)")
        }
        #expect(try b.store.audit().problems == [])
        #expect(try b.vector()[a.store.registration().peer] == snapshot.taken.sequence)
        try b.write("INSERT INTO album(title) VALUES('new')")
        #expect(try b.strings("SELECT max(id) FROM album") == ["51"], "no number comes twice")
        try a.write("UPDATE word SET weight = 3 WHERE id = 'b'")
        try agree(a, b)
    }

    @Test func fillingGoesOnWhereItWasKilled() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + Self.rows)
        let snapshot = try a.snapshot()
        struct Killed: Error {}
        let b = try TestPeer(folder, "b", emptyLike: a)
        var frames = 0
        for kill in 1...100 {
            do {
                var left = kill
                try b.store.fill(
                    from: snapshot.taken.hash, step: .zero, blobs: { try snapshot.blob($0) }, { try snapshot.open() }
                ) { done in
                    #expect(done >= frames, "nothing is done twice")
                    frames = done
                    left -= 1
                    if left == 0 { throw Killed() }
                }
                break
            } catch is Killed { continue }
        }
        #expect(frames >= 5)
        #expect(try b.store.audit().problems == [])
        try agree(a, b)
    }

    @Test func aStoreThatWasFilledHasItsJournalAgain() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + Self.rows)
        let snapshot = try a.snapshot()
        struct Killed: Error {}
        let b = try TestPeer(folder, "b", emptyLike: a)
        func journal() throws -> Value? { try b.store.database.withConnection { try $0.scalar("PRAGMA journal_mode") } }
        func fill(_ progress: (Int) throws -> Void) throws {
            try b.store.fill(
                from: snapshot.taken.hash, step: .zero, blobs: { try snapshot.blob($0) }, { try snapshot.open() },
                progress: progress)
        }
        #expect(throws: Killed.self) {
            try fill { _ in
                #expect(try journal() == .text("delete"))
                throw Killed()
            }
        }
        #expect(try journal() == .text("wal"))
        // As a process leaves it that dies.
        try b.store.database.withConnection { _ = try $0.scalar("PRAGMA journal_mode = delete") }
        #expect(try journal() == .text("delete"))
        try fill { _ in }
        #expect(try journal() == .text("wal"))
        try agree(a, b)
    }

    /// How a forged snapshot says a row.
    enum Spelling: CaseIterable {
        case plain, spelled

        func rows(_ rows: PlainRows) -> SnapshotRows {
            guard self == .spelled else { return .plain(rows) }
            var spelled = SpelledRows(table: rows.table)
            for index in rows.identities.indices {
                var row = SpelledRows.Row(identity: rows.identities[index], integer: rows.integers[index])
                row.inserts = [rows.stamps[index]]
                row.cells = rows.columns.map { column in
                    var cell = SpelledRows.Cell(column: column.name)
                    cell.versions = [SpelledRows.Version(stamp: rows.stamps[index], value: column.values?[index])]
                    return cell
                }
                spelled.rows.append(row)
            }
            return .spelled(spelled)
        }
    }

    @Test(arguments: Spelling.allCases, Spelling.allCases)
    func aSnapshotThatHasARowInTwoFramesIsRefused(first: Spelling, second: Spelling) throws {
        for contested in [[], [0], [0, 1]] { try refuseRowInTwoFrames([first, second], contested) }
    }

    /// - Parameter contested: the places of frames in which the rows contest each other.
    private func refuseRowInTwoFrames(_ spellings: [Spelling], _ contested: [Int]) throws {
        let suffix = "\(contested.count)"
        let a = try TestPeer(
            folder, "a" + suffix,
            sql: "CREATE TABLE u(id INTEGER PRIMARY KEY, k TEXT UNIQUE); INSERT INTO u(k) VALUES('a'),('b')")
        let honest = try a.snapshot()
        var frames: [SnapshotRows] = []
        for rows in try honest.rows() {
            guard case .plain(let plain) = rows, plain.table == "u" else {
                frames.append(rows)
                continue
            }
            for (place, spelling) in spellings.enumerated() {
                var rows = plain
                // Of two rows that have one unique value it is decided at the end which is shown.
                if contested.contains(place) { rows.columns[0].values = plain.identities.map { _ in .text("same") } }
                frames.append(spelling.rows(rows))
            }
        }
        var (manifest, bytes): (SnapshotManifest, [UInt8]) = (try honest.manifest, [])
        func write() throws -> FileHash {
            bytes = []
            let writer = try SnapshotWriter(content: "test", peer: a.store.registration().peer, manifest: manifest) {
                bytes += $0
            }
            for rows in frames { try writer.append(rows) }
            return try writer.finish()
        }
        _ = try write()
        manifest.digest = try SnapshotSum.digest(of: SnapshotReader(MemorySource(bytes)))
        var taken = honest.taken
        taken.hash = try write()
        let forged = Snapshot(bytes: bytes, taken: taken)
        let b = try TestPeer(folder, "b" + suffix, emptyLike: a)
        try expectTwice { try b.store.fill(from: taken.hash) { try forged.open() } }
        let c = try TestPeer(folder, "c" + suffix, emptyLike: a)
        try expectTwice { try c.join(forged) }
    }

    /// By its name: a sum that is wrong in the end is refused as well.
    private func expectTwice(_ body: () throws -> Void) throws {
        let error = #expect(throws: LogSyncError.self) { try body() }
        #expect(
            error?.code == .malformedLog
                && ["twice", "make no sense"].contains { error?.message.contains($0) == true },
            "\(String(describing: error))")
    }

    @Test func aSnapshotWhoseRowsDoNotAddUpIsRefused() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + Self.rows)
        let whole = try a.snapshot()
        var manifest = try whole.manifest
        manifest.digest ^= 1
        var bytes: [UInt8] = []
        let writer = try SnapshotWriter(content: "test", peer: try a.store.registration().peer, manifest: manifest) {
            bytes += $0
        }
        for rows in try whole.rows() { try writer.append(rows) }
        var taken = whole.taken
        taken.hash = try writer.finish()
        let wrong = Snapshot(bytes: bytes, taken: taken)
        let b = try TestPeer(folder, "b", emptyLike: a)
        try expect(.malformedLog) { try b.store.fill(from: taken.hash) { try wrong.open() } }
        let c = try TestPeer(folder, "c", emptyLike: a)
        let before = try c.vector()
        try expect(.malformedLog) { try c.join(wrong) }
        #expect(try c.vector() == before)
        #expect(try c.strings("SELECT count(*) FROM word") == ["0"])
    }

    @Test func whoReturnsLateKeepsItsWorkAndDeletedRowsStayDeleted() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + Self.rows)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.pull(from: b)
        try a.write(
            "DELETE FROM word WHERE id IN ('a', 'b'); INSERT INTO word VALUES('d', 'from a', 4); DELETE FROM album")
        _ = try a.store.record()
        try b.write(
            """
            INSERT INTO word VALUES('e', 'from b', 5); UPDATE word SET meaning = 'edited' WHERE id = 'b';
            UPDATE word SET weight = 9 WHERE id = 'c'; INSERT INTO artist(name) VALUES('of b');
            """)
        let joined = try b.join(try a.snapshot())
        #expect(joined.recorded != nil, "what was written is recorded before anything is merged")
        #expect(joined.transactions == 1)
        #expect(
            try b.strings("SELECT id || coalesce(meaning, '') FROM word ORDER BY id") == ["c", "dfrom a", "efrom b"])
        #expect(try b.strings("SELECT count(*) FROM album") == ["0"])
        #expect(try b.store.audit().problems == [])
        #expect(joined.tables["word"]?.counts == ChangeCounts(inserted: 1, updated: 0, deleted: 2))
        #expect(try b.store.conflicts(table: "word", all: false).count == 1, "the edit that lost to a delete is listed")
        try agree(a, b)
        #expect(try a.strings("SELECT weight FROM word WHERE id = 'c'") == ["9.0"])
    }

    @Test func joiningTwiceChangesNothing() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + Self.rows)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE word SET meaning = 'again'; DELETE FROM tree WHERE id = 4")
        let snapshot = try a.snapshot()
        try b.join(snapshot)
        #expect(try b.store.joinability(of: snapshot.manifest) == .nothingNew)
        let digest = try b.digest()
        try expect(.malformedLog) { try b.join(snapshot) }
        #expect(try b.digest() == digest)
        try agree(a, b)
    }

    @Test func whatASnapshotBroughtIsSeenByTheTransactionsThatFollow() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + Self.rows)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.pull(from: b)
        try b.write("UPDATE word SET meaning = 'b1' WHERE id = 'a'")
        try a.pull(from: b)
        try a.write("UPDATE word SET meaning = 'a2' WHERE id = 'a'")
        try b.pull(from: a)
        try b.write("UPDATE word SET weight = 8 WHERE id = 'c'")
        try a.pull(from: b)
        let c = try TestPeer(folder, "c", filling: try a.snapshot(), from: a)
        // Its dependencies say only what moved since the transaction that came with the snapshot: nothing.
        try b.write("UPDATE word SET meaning = 'b3' WHERE id = 'a'")
        try c.pull(from: b)
        #expect(try c.strings("SELECT meaning FROM word WHERE id = 'a'") == ["b3"])
        #expect(try c.store.conflicts(table: nil, all: false).isEmpty)
        try agree(a, b, c)
    }

    @Test func aCopyKnowsWhatItsOriginalHadSeen() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + Self.rows)
        let c = try TestPeer(folder, "c", cloning: a)
        try a.pull(from: c)
        try c.write("UPDATE word SET meaning = 'c' WHERE id = 'a'")
        try a.pull(from: c)
        try a.write("UPDATE word SET weight = 7 WHERE id = 'c'")
        _ = try a.store.record()
        let path = folder.path + "/copy.db"
        try a.write("VACUUM INTO '\(path)'")
        let copy = try Store.open(path, configuration: TestPeer.configuration(9))
        try copy.becomeSuccessor(PeerID(high: 9, low: 9), name: "copy", retiring: [])
        // The original's next transaction depends on nothing new.
        try a.write("UPDATE word SET meaning = 'a after c' WHERE id = 'a'")
        let b = try TestPeer(folder, "b", opening: copy)
        try b.pull(from: a)
        #expect(try b.strings("SELECT meaning FROM word WHERE id = 'a'") == ["a after c"])
        #expect(try b.store.conflicts(table: "word", all: false).isEmpty)
        try agree(a, b, c)
    }

    @Test func aCopyRecordsWhatWasCapturedAsItsOriginalDoesAndTheRestAsItsOwn() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
        try a.write("INSERT INTO t(v) VALUES ('both')")
        let path = folder.path + "/copy.db"
        try a.write("VACUUM INTO '\(path)'")
        let copy = try Store.open(path, configuration: TestPeer.configuration(9))
        try copy.becomeSuccessor(PeerID(high: 9, low: 9), name: "copy", retiring: [])
        let b = try TestPeer(folder, "b", opening: copy)
        for peer in [a, b] { _ = try peer.store.record() }
        for peer in [a, b] {
            try peer.write("INSERT INTO t(v) VALUES ('\(peer.name)')")
            let pending = try peer.strings(
                "SELECT name FROM sqlite_schema WHERE name GLOB 'logsync_pending_*' AND type = 'table'")
            // In the same millisecond, under the same number.
            for table in pending { try peer.write("UPDATE \(table) SET ms = 1700000000000") }
        }
        try agree(a, b)
        #expect(try b.strings("SELECT v FROM t ORDER BY v") == ["a", "b", "both"])
    }

    @Test func aReferenceIsFoundDanglingWhateverItsTableIsCalled() throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE parent(id INTEGER PRIMARY KEY, up INTEGER REFERENCES parent(id));
                INSERT INTO parent VALUES(6, 6)
                """)
        try a.write("INSERT INTO parent VALUES(1, 9)")
        let b = try TestPeer(folder, "b", filling: try a.snapshot(), from: a)
        #expect(
            try a.strings("SELECT target FROM logsync_setting WHERE kind = 'foreign-key'") == ["parent.up"])
        #expect(try b.strings("SELECT count(*) FROM parent") == ["2"])
        try agree(a, b)
    }

    @Test func aForkAndAFutureOfOneselfAreNotJoined() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + Self.rows, seed: 1)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("DELETE FROM word")
        var snapshot = try a.snapshot()
        var manifest = try snapshot.manifest
        let own = try b.store.registration().peer
        let peer = try a.store.registration().peer
        #expect(try b.store.joinability(of: manifest) == .ready(1))
        manifest.peers.removeAll { $0.id == peer }
        manifest.peers.append(.init(id: peer, sequence: 1, chain: .zero, dependencies: VersionVector()))
        #expect(try b.store.joinability(of: manifest) == .fork(peer))
        manifest.peers = [.init(id: own, sequence: 9, chain: .zero, dependencies: VersionVector())]
        #expect(try b.store.joinability(of: manifest) == .ahead(9))
        snapshot = try a.snapshot()
        try b.join(snapshot)
    }

    @Test func tablesAndColumnsThatAreNotHereAreKept() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + Self.rows)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write(
            """
            ALTER TABLE word ADD COLUMN color TEXT; UPDATE word SET color = 'red' WHERE id = 'a';
            CREATE TABLE extra(id TEXT PRIMARY KEY, v); INSERT INTO extra VALUES('k', 1);
            """)
        _ = try a.store.record()
        let snapshot = try a.snapshot()
        try b.join(snapshot)
        #expect(try b.store.audit().problems == [])
        #expect(try b.digest() == a.digest() || b.vector() != a.vector())
        let c = try TestPeer(folder, "c", filling: try b.snapshot(), from: b)
        #expect(try c.store.audit().problems == [])
        let schema = "ALTER TABLE word ADD COLUMN color TEXT; CREATE TABLE extra(id TEXT PRIMARY KEY, v)"
        for peer in [b, c] { try peer.write(schema) }
        try agree(a, b, c)
        for peer in [b, c] {
            #expect(try peer.strings("SELECT color FROM word WHERE id = 'a'") == ["red"])
            #expect(try peer.strings("SELECT * FROM extra") == ["k|1"])
        }
    }

    @Test func aDroppedColumnsCellsGoAlong() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + Self.rows)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("ALTER TABLE word DROP COLUMN meaning; INSERT INTO word VALUES('n', 1)")
        let c = try TestPeer(folder, "c", filling: try a.snapshot(), from: a)
        try b.join(try a.snapshot())
        #expect(try b.strings("SELECT meaning FROM word WHERE id = 'a'") == ["first"], "who has the column keeps it")
        try agree(a, c)
        #expect(try b.store.audit().problems == [])
        try converge(a, b, c)
        #expect(try b.strings("SELECT meaning FROM word WHERE id = 'a'") == ["first"])
        #expect(try b.store.audit().problems == [])
    }
}

/// Snapshots among logs, whatever the programs do.
@Suite(.serialized) struct SnapshotWorkloadTests {
    @Test(arguments: 1...12)
    func peersAgreeWhetherTheyImportOrJoin(seed: Int) throws {
        try run(seed, policies: [])
    }

    @Test(arguments: 101...110)
    func theyDoSoUnderEveryPolicy(seed: Int) throws {
        try run(
            seed,
            policies: [
                ("child.v", "sum"), ("word.x", "sum"), ("tag", "unique-merge"), ("user", "delete-loses"),
                ("grid.v", "max"), ("note", "last-writer-row"),
            ])
    }

    private func run(_ seed: Int, policies: [(target: String, policy: String)]) throws {
        let folder = try TestFolder()
        var random = SeededGenerator(state: UInt64(seed) &* 77)
        let program = WorkloadTests()
        let a = try TestPeer(folder, "a", sql: WorkloadTests.schema, seed: random.next()) {
            $0.identities["label"] = .columns(["name"])
            $0.policies = policies
        }
        let b = try TestPeer(folder, "b", cloning: a, seed: random.next())
        let c = try TestPeer(folder, "c", cloning: b, seed: random.next())
        try c.pull(from: a)
        let peers = [a, b, c]
        for _ in 0..<30 {
            let peer = peers[Int.random(in: 0..<3, using: &random)]
            for _ in 0..<Int.random(in: 1...6, using: &random) { try peer.write(program.statement(&random)) }
            let other = peers[Int.random(in: 0..<3, using: &random)]
            guard other !== peer, Int.random(in: 0..<2, using: &random) == 0 else { continue }
            if Bool.random(using: &random) { try peer.joinNews(from: other) } else { try peer.pull(from: other) }
            _ = try peer.store.record()
            #expect(try peer.store.audit().problems == [], "seed \(seed)")
        }
        let d = try TestPeer(folder, "d", filling: try b.snapshot(), from: b, seed: random.next(), step: .zero)
        #expect(try d.store.audit().problems == [], "seed \(seed)")
        #expect(try d.recorded() == nil, "seed \(seed): a phantom change")
        try agree(a, b, c, d)
    }
}
