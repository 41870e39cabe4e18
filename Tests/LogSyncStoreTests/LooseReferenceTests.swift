import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Columns that are references by names that say less, or by rows that are not there; as applications have them.
@Suite("Undeclared references by loose names")
struct LooseReferenceTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// Each as `table.column parent`, in the order in which they are offered.
    private func asked(_ sql: String, in name: String = "app") throws -> [String] {
        try folder.examine(sql, in: name).undecided.map { "\($0.table).\($0.column) \($0.parent)" }
    }

    private static let teams = """
        CREATE TABLE teams(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO teams VALUES(1, 'a'), (2, 'b'), (3, 'c');
        """

    @Test(
        "A column that is called after a table behind any words is its, where it holds rows of it and nothing else",
        arguments: ["home_team", "winningTeam", "best_of_three_team"])
    func behindAnyWords(column: String) throws {
        let schema = Self.teams + "CREATE TABLE games(id INTEGER PRIMARY KEY, \(column) INTEGER);"
        #expect(try asked(schema) == [])
        #expect(try asked(schema + "INSERT INTO games VALUES(1, 2), (2, 3);", in: "b") == ["games.\(column) teams"])
        #expect(try asked(schema + "INSERT INTO games VALUES(1, 2), (2, 30);", in: "c") == [])
    }

    @Test(
        "It is a number where it says so, or says how many",
        arguments: ["sort_team", "won_teams", "is_team", "max_team"])
    func numbers(column: String) throws {
        let schema = Self.teams + "CREATE TABLE games(id INTEGER PRIMARY KEY, \(column) INTEGER);"
        #expect(try asked(schema + "INSERT INTO games VALUES(1, 2), (2, 3);") == [])
    }

    /// As in Vienna, whose columns have no types.
    @Test("The first row below another is one")
    func firstChild() throws {
        let schema = """
            CREATE TABLE folders(folder_id INTEGER PRIMARY KEY, parent_id, next_sibling, first_child);
            INSERT INTO folders VALUES(1, -1, 2, 4), (2, -1, 3, 5), (3, -1, 7, 6), (4, 1, 0, 0), (5, 2, 0, 0), (6, 3, 0, 0),
                (7, -1, 0, 0);
            """
        #expect(
            try asked(schema) == [
                "folders.parent_id folders", "folders.next_sibling folders", "folders.first_child folders",
            ])
    }

    /// As in QuiteRSS.
    @Test("The row above what a name says first is that table's")
    func parentOfOthers() throws {
        let schema = """
            CREATE TABLE feeds(id INTEGER PRIMARY KEY, parentId INTEGER);
            CREATE TABLE news(id INTEGER PRIMARY KEY, feedId INTEGER, feedParentId INTEGER DEFAULT 0);
            """
        #expect(
            try asked(schema) == [
                "feeds.parentId feeds", "news.feedId feeds", "news.feedParentId feeds", "news.feedParentId news",
            ])
        let rows = "INSERT INTO feeds VALUES(1, 0), (2, 1), (3, 1); INSERT INTO news VALUES(4, 2, 1), (5, 3, 1);"
        #expect(try asked(schema + rows, in: "b").contains("news.feedParentId feeds"))
    }

    /// As in Banshee.
    @Test("A note of deleted rows has integers of which none is there, and which the counter has passed")
    func deletedRows() throws {
        let schema = """
            CREATE TABLE tracks(TrackID INTEGER PRIMARY KEY, uri TEXT); INSERT INTO tracks VALUES(1, 'a'), (5, 'b');
            CREATE TABLE removed_tracks(TrackID INTEGER NOT NULL, uri TEXT);
            """
        let rows = "INSERT INTO removed_tracks VALUES(2, 'x'), (4, 'y');"
        #expect(try asked(schema + rows) == ["removed_tracks.TrackID tracks"])
        #expect(try asked(schema + rows + "INSERT INTO removed_tracks VALUES(70, 'z');", in: "b") == [])
    }

    /// As in Banshee, where two tables number their rows by it.
    @Test("A key that is called as any is not another table's because that ends so, and has a key of the same name")
    func anyKey() throws {
        let schema = """
            CREATE TABLE list_entries(EntryID INTEGER PRIMARY KEY, n INTEGER);
            CREATE TABLE configuration(EntryID INTEGER PRIMARY KEY, value TEXT);
            INSERT INTO list_entries VALUES(1, 9), (2, 9); INSERT INTO configuration VALUES(1, 'x');
            """
        #expect(try asked(schema) == [])
    }

    /// As in Murmur: channels have no integers of a machine's own.
    @Test("What names rows that go by values which are the same everywhere is no other table's")
    func keysThatAreTheSame() throws {
        let schema = """
            CREATE TABLE channels(server_id INTEGER, channel_id INTEGER, parent_id INTEGER, UNIQUE(server_id, channel_id));
            CREATE TABLE groups(group_id INTEGER PRIMARY KEY, channel_id INTEGER, name TEXT);
            INSERT INTO channels VALUES(1, 1, 0), (1, 2, 1), (1, 3, 2), (1, 4, 3);
            INSERT INTO groups VALUES(1, 1, 'a'), (2, 3, 'b'), (3, 2, 'c');
            """
        #expect(try asked(schema) == [])
    }

    /// As in F-Spot: a version's number is the photo's, and no rowid.
    @Test("A table without a key that numbers what it is called after has no rowids that a program goes by")
    func numbersOfParts() throws {
        let schema = """
            CREATE TABLE photos(id INTEGER PRIMARY KEY, default_version_id INTEGER);
            CREATE TABLE photo_versions(photo_id INTEGER, version_id INTEGER, name TEXT, UNIQUE(photo_id, version_id));
            INSERT INTO photos VALUES(7, 1), (8, 2); INSERT INTO photo_versions VALUES(7, 1, 'a'), (8, 1, 'b'), (8, 2, 'c');
            """
        #expect(try asked(schema) == ["photo_versions.photo_id photos"])
    }

    /// As in Domoticz.
    @Test("Of columns of one name, what most seem to refer to is offered first for those that hold few rows")
    func agreeing() throws {
        let schema = """
            CREATE TABLE DeviceStatus(ID INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE SharedDevices(ID INTEGER PRIMARY KEY, DeviceRowID BIGINT);
            CREATE TABLE Timers(ID INTEGER PRIMARY KEY, DeviceRowID BIGINT);
            CREATE TABLE Meter(DeviceRowID BIGINT, Value BIGINT);
            CREATE TABLE Notes(ID INTEGER PRIMARY KEY, DeviceRowID BIGINT);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12)
            INSERT INTO DeviceStatus SELECT i, 'd' FROM n;
            INSERT INTO SharedDevices VALUES(1, 8), (2, 9), (3, 10); INSERT INTO Timers VALUES(1, 11), (2, 12);
            INSERT INTO Meter VALUES(7, 1), (12, 1); INSERT INTO Notes VALUES(1, 2), (2, 3);
            """
        let offered = try asked(schema)
        for table in ["SharedDevices", "Timers", "Meter", "Notes"] {
            let first = offered.first { $0.hasPrefix("\(table).DeviceRowID") }
            #expect(first == "\(table).DeviceRowID DeviceStatus")
        }
    }

    /// As in Zeitgeist.
    @Test("So is a column that is called as a reference, with words after it that say which")
    func wordsAfterAReference() throws {
        let schema = """
            CREATE TABLE uri(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO uri VALUES(1, 'a'), (2, 'b'), (3, 'c');
            CREATE TABLE event(origin INTEGER REFERENCES uri(id), origin_current INTEGER, origin_count INTEGER);
            INSERT INTO event VALUES(1, 2, 1), (2, 3, 2), (3, 1, 3);
            """
        #expect(try asked(schema) == ["event.origin_current uri"])
    }

    /// As in sabre/dav.
    @Test("What is UNIQUE together with another reference joins rows, however few")
    func links() throws {
        let schema = """
            CREATE TABLE principals(id INTEGER PRIMARY KEY); INSERT INTO principals VALUES(1), (2), (3);
            CREATE TABLE groupmembers(id INTEGER PRIMARY KEY, principal_id INTEGER, member_id INTEGER, few_id INTEGER,
                UNIQUE(principal_id, member_id));
            INSERT INTO groupmembers VALUES(7, 1, 3, 3);
            """
        #expect(try asked(schema) == ["groupmembers.principal_id principals", "groupmembers.member_id principals"])
    }

    /// As in Delta Chat.
    @Test("What only says that it is foreign may be any table's; an album's number elsewhere is none of this program's")
    func foreign() throws {
        let schema = """
            CREATE TABLE albums(id INTEGER PRIMARY KEY); INSERT INTO albums VALUES(1), (2), (3);
            CREATE TABLE jobs(action TEXT, foreign_id INTEGER, foreign_album_id INTEGER);
            INSERT INTO jobs VALUES('a', 2, 2), ('b', 3, 3), ('c', 1, 1);
            """
        #expect(try asked(schema) == ["jobs.foreign_id albums"])
    }

    /// As in Mixxx.
    @Test("A text that is called as the end of a table's name, and holds numbers, is what it says")
    func numbersAsTexts() throws {
        let schema = """
            CREATE TABLE playlist_tracks(id INTEGER PRIMARY KEY); INSERT INTO playlist_tracks VALUES(1), (2), (3), (4);
            CREATE TABLE library(id INTEGER PRIMARY KEY, track TEXT);
            INSERT INTO library VALUES(7, '1'), (8, '2'), (9, '3'), (10, '4');
            """
        #expect(try asked(schema) == [])
    }

    /// As in Trac.
    @Test("Of texts beside a type, those count of which it says that they name a table's rows; others may be names")
    func textsOfSomeTypes() throws {
        let schema = """
            CREATE TABLE ticket(id INTEGER PRIMARY KEY, summary TEXT); INSERT INTO ticket VALUES(1, 'a'), (2, 'b');
            CREATE TABLE attachment(type TEXT, id TEXT, filename TEXT, UNIQUE(type, id, filename));
            """
        let rows = "INSERT INTO attachment VALUES('ticket', '2', 'a'), ('wiki', 'Start', 'b'), ('milestone', '2', 'c');"
        let report = try folder.examine(schema + rows)
        #expect(report.undecided.map { "\($0.table).\($0.column) \($0.parent)" } == ["attachment.id ticket"])
        #expect(report.undecided.allSatisfy { $0.asText == true })
        #expect(try asked(schema + "INSERT INTO attachment VALUES('wiki', '2', 'b');", in: "b") == [])
    }
}
