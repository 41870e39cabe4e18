import LogSync
import Testing

@testable import LogSyncCommand

/// The parts that can be tried without a process.
@Suite(.turn) struct PlumbingTests {
    @Test func `the gravest code is the highest, except that trying again yields to every failure`() {
        #expect(ExitStatus.allCases.max() == .terminated)
        #expect([ExitStatus.held, .integrity].max() == .integrity)
        #expect([ExitStatus.integrity, .tryAgain].max() == .tryAgain)
        #expect([ExitStatus.tryAgain, .data].max() == .data)
        #expect([ExitStatus.noInput, .data].max() == .noInput)
        #expect(ExitStatus.allCases.min() == .done)
    }

    @Test func `every code of the library has its exit code`() {
        let table: [(LogSyncError.Code, Int32)] = [
            (.usage, 64), (.historyExpired, 64), (.invalidStore, 65), (.unsupportedTable, 65), (.malformedLog, 65),
            (.newerFormat, 65),
            (.noStore, 66), (.notReplicated, 66), (.containerUnavailable, 69), (.cannotCreate, 73), (.ioError, 74),
            (.locked, 75), (.noPermission, 77), (.configuration, 78),
        ]
        for (code, status) in table { #expect(ExitStatus(code).rawValue == status, "\(code.rawValue)") }
        #expect(Outcome.allKnown.map { ExitStatus($0).rawValue } == [0, 3, 4])
    }

    @Test func `columns are aligned, and nothing that a peer calls itself moves the cursor`() {
        var table = TextTable(("NAME", .left), ("COUNT", .right))
        table.add("a", "1000")
        table.add("b\u{1B}[2J\n", "1")
        #expect(table.lines == ["NAME          COUNT", "a              1000", "b\\u{1b}[2J\\n      1"])
    }

    @Test func `an address may leave out where, and then is this machine's own`() {
        let table = [
            ("9090", "127.0.0.1:9090"), (":9090", "127.0.0.1:9090"), ("localhost:80", "127.0.0.1:80"),
            ("0.0.0.0:1", "0.0.0.0:1"), ("[::1]:9090", "[::1]:9090"),
        ]
        for (given, address) in table { #expect(ListenAddress(argument: given)?.description == address) }
        for wrong in ["", "here", "host:", "::1:9090", "host:70000", "host:-1"] {
            #expect(ListenAddress(argument: wrong) == nil, "\(wrong)")
        }
    }

    @Test func `values are shown as SQL would write them`() {
        let table: [(Value, String)] = [
            (.null, "NULL"), (.integer(-7), "-7"), (.real(1.5), "1.5"), (.real(.infinity), "9e999"),
            (.text("it's"), "'it''s'"), (.blob([0, 255]), "X'00ff'"), (.text([0x61, 0]), "CAST(X'6100' AS TEXT)"),
            (.text([0xFF]), "CAST(X'ff' AS TEXT)"),
        ]
        for (value, text) in table { #expect(SQLLiteral.text(value) == text) }
    }

    @Test func `keys and values are read as SQL or JSON, in every form that is printed`() throws {
        let printed: [Value] = [
            .null, .integer(-7), .integer(.max), .real(1.5), .real(-.infinity), .real(.infinity), .text("it's [1]"),
            .text([0x80]), .text([0x61, 0]), .blob([0, 255]),
        ]
        for value in printed {
            let json = try JSONText.line([JSONValue(value), JSONValue(.integer(1))])
            #expect(try LiteralArgument.key(json) == [value, .integer(1)], "\(json)")
            #expect(try LiteralArgument.value(JSONText.line(JSONValue(value))) == value)
        }
        let table: [(String, Value)] = [
            ("NULL", .null), ("-5", .integer(-5)), (" -5", .integer(-5)), ("-1.5", .real(-1.5)),
            ("'it''s'", .text("it's")),
            ("x'00ff'", .blob([0, 255])), ("-9e999", .real(-.infinity)), ("\" a\"", .text(" a")),
        ]
        for (text, value) in table { #expect(try LiteralArgument.value(text) == value, "\(text)") }
        for wrong in ["word", #"{"real":"NaN"}"#, #"{"text":"a"}"#, #"{"base64":"?"}"#, #"{"row":"00"}"#, "[1]"] {
            #expect(throws: (any Error).self, "\(wrong)") { try LiteralArgument.value(wrong) }
        }
    }

    @Test func `negative numbers are no options where keys and values stand`() {
        let table = [
            (
                ["conflicts", "take", "a.db", "n", "-1", "v", "--json"],
                ["conflicts", "take", "a.db", "n", " -1", "v", "--json"]
            ),
            (["conflicts", "set", "-q", "-.5", "--", "-2"], ["conflicts", "set", "-q", " -.5", "--", "-2"]),
            (["kv", "set", "-k", "-1", " -1", "--", " -1"], ["kv", "set", "-k", " -1", "  -1", "--", "  -1"]),
            (["kv", "list", "-1"], ["kv", "list", "-1"]),
            (["conflicts", "list", "-1"], ["conflicts", "list", "-1"]), (["log", "-1"], ["log", "-1"]), ([], []),
        ]
        for (given, shielded) in table { #expect(LiteralArgument.shielding(given) == shielded) }
        let words = ["kv", "set", "-1", " -1", "  -.5", " a", "-"]
        #expect(LiteralArgument.shielding(words).map(LiteralArgument.text) == words)
    }

    @Test func `seconds and milliseconds have bounds`() {
        #expect(Seconds(argument: "0.5")?.duration == .milliseconds(500))
        for wrong in ["0", "-1", "nan", "inf", "soon", "1e12"] { #expect(Seconds(argument: wrong) == nil) }
        #expect(Milliseconds(argument: "0")?.duration == .zero)
        for wrong in ["-1", "1.5", "9999999"] { #expect(Milliseconds(argument: wrong) == nil) }
    }

    @Test func `an error is one line, whatever its message holds`() throws {
        let error = LogSyncError(.ioError, "first\nsecond \u{1B}[31m", help: "Do\nthat")
        #expect(Complaint.line(error, isJSON: false) == "logsync: first second \\u{1b}[31m. Do that")
        let document = try JSON(Complaint.line(LogSyncError(.locked, "wait"), isJSON: true))
        #expect(document["error"]?.keys == ["code", "message", "help"] && document["error"]?["help"]?.isNull == true)
    }
}

extension Outcome {
    fileprivate static let allKnown: [Outcome] = [.complete, .held, .integrity]
}
