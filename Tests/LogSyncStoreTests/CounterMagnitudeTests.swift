import LogSyncModel
import Testing

@testable import LogSyncStore

@Suite("Counters whose amounts differ much in size")
struct CounterMagnitudeTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func pair(_ type: String, _ first: String) throws -> (TestPeer, TestPeer) {
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, n \(type)); INSERT INTO t VALUES('x', \(first))")
        _ = try a.store.setPolicy("t.n", "sum")
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    @Test(
        "What one peer alone writes is shown",
        arguments: [
            ("REAL", ["1e17", "0.1", "0.1", "0.3"]), ("REAL", ["0.5", "1e300", "1", "-1e300", "2"]),
            ("INTEGER", ["9223372036854775800", "3", "-9223372036854775807", "4"]),
            ("", ["5.0", "1e300", "1", "9223372036854775807", "0.25"]),
        ])
    func alone(type: String, values: [String]) throws {
        let (a, b) = try pair(type, "1")
        for value in values {
            try b.write("UPDATE t SET n = \(value)")
            try converge(a, b)
            for peer in [a, b] { #expect(try peer.strings("SELECT n = \(value) FROM t") == ["1"], "\(value)") }
        }
    }

    @Test("An integer that two peers made overflow can be set again")
    func overflow() throws {
        let (a, b) = try pair("INTEGER", "9223372036854775800")
        for peer in [a, b] { try peer.write("UPDATE t SET n = n + 7") }
        try converge(a, b)
        try b.write("UPDATE t SET n = 3")
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT n FROM t") == ["3"]) }
    }

    @Test("Small amounts that round go on adding up with another peer's")
    func rounding() throws {
        let (a, b) = try pair("REAL", "0.3")
        for _ in 1...3 {
            try a.write("UPDATE t SET n = n - 0.1")
            try a.record()
        }
        for _ in 1...100 {
            try b.write("UPDATE t SET n = n + 0.01")
            try b.record()
        }
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT round(n, 9) FROM t") == ["1.0"]) }
    }
}
