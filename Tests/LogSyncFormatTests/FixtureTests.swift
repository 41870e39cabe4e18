import Foundation
import LogSyncFormat
import LogSyncModel
import Testing

/// The golden files of format version 1. Every later release has to read them as they are; never write them anew.
///
/// `LOGSYNC_WRITE_FIXTURES=1 swift test --filter FixtureTests` writes those that are not there yet.
@Suite struct FixtureTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let time = HybridTime(milliseconds: 1_700_000_000_000)

    /// The example that Documentation/log-format.md takes apart.
    static let example = [
        Transaction(
            header: TransactionHeader(dot: Dot(.a, 1), time: time, author: "ann"),
            groups: [
                RowGroup(
                    table: "note", kind: .insert,
                    columns: [
                        .init(name: "id", values: [.text("k1"), .text("k2")]),
                        .init(name: "title", values: [.text("Tea"), .null]),
                    ],
                    identities: [natural("k1"), natural("k2")], times: [time, time])
            ])
    ]

    /// Every kind of change, operation, storage class and encoding.
    static let everyEncoding: [Transaction] = {
        let surrogates = (UInt8(1)...3).map { RowIdentity(surrogate: [UInt8](repeating: 0xC0, count: 15) + [$0]) }
        let joined = surrogates.map { RowIdentity(natural: [.reference($0), .integer(7), .real(0.5), .blob([0xFF])]) }
        let scattered = [surrogates[0], natural("x"), RowIdentity(natural: [.integer(.min)])]
        let times = (0..<3).map { HybridTime(milliseconds: time.milliseconds + $0, counter: UInt16($0)) }
        let values: [RowGroup.Column] = [
            .init(name: "nulls", values: [.null, .null, .null]),
            .init(name: "integers", values: [.integer(.min), .integer(.max), .integer(0)]),
            .init(name: "deltas", values: [.integer(1_000_000), .integer(1_000_001), .integer(1_000_003)]),
            .init(
                name: "reals",
                values: [.real(-0.0), .real(.infinity), .real(Double(bitPattern: 0x7FF8_0000_0000_BEEF))]),
            .init(name: "texts", values: [.text(""), .text([0x61, 0, 0x62]), .text([0xFF])]),
            .init(name: "blobs", values: [.blob([]), .blob([0]), .blob([1, 2, 3])]),
            .init(name: "references", referencedTable: "parent", values: surrogates.map { .reference($0) }),
            .init(name: "mixed", values: [.integer(1), .real(1), .text("1")]),
            .init(name: "constant", values: [.text("same"), .text("same"), .text("same")]),
        ]
        return [
            Transaction(
                header: TransactionHeader(
                    dot: Dot(.b, 41), time: time,
                    dependencyChanges: [Dependency(Dot(.a, 300)), Dependency(Dot(PeerID(high: 0xC, low: 3), 1))],
                    schema: SchemaFingerprint(bytes: [UInt8](0..<16)), author: "böb", context: ""),
                groups: [
                    RowGroup(
                        table: "thing", kind: .insert, columns: values, identities: surrogates, times: times,
                        integers: [10, 11, -5]),
                    RowGroup(
                        table: "link", kind: .update,
                        columns: [
                            .init(
                                name: "count", operation: .add, values: [.integer(-3), .real(0.25), .integer(9)],
                                bases: [Dot(.a, 1), Dot(.b, 40), Dot(.a, 300)]),
                            .init(name: "found", operation: .fill, values: [.integer(0), .null, .blob([9])]),
                            .init(name: "again", values: [.null, .null, .integer(1)], times: times.reversed()),
                        ], identities: joined, times: [.zero, .zero, .zero]),
                    RowGroup(table: "loose", kind: .delete, identities: scattered, times: [time, times[1], time]),
                ]),
            Transaction(header: TransactionHeader(dot: Dot(.b, 42), time: time.successor), groups: []),
        ]
    }()

    /// A value over several blocks, and rows over several frames.
    static let large: [Transaction] = [
        Transaction(
            header: TransactionHeader(dot: Dot(.a, 1), time: time),
            groups: [
                RowGroup(
                    table: "file", kind: .insert,
                    columns: [
                        .init(
                            name: "content",
                            values: [.blob((0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 >> 12) }[...])])
                    ], identities: [natural("big")], times: [time]),
                RowGroup(
                    table: "row", kind: .update,
                    columns: [
                        .init(
                            name: "body",
                            values: (0..<3000).map { .text(String(repeating: "line \($0 / 100) ", count: 60)) })
                    ], identities: (0..<3000).map { RowIdentity(natural: [.integer($0)]) },
                    times: (0..<3000).map { _ in time }),
            ])
    ]

    private static func natural(_ text: String) -> RowIdentity { RowIdentity(natural: [.text(Array(text.utf8)[...])]) }

    @Test(arguments: [
        ("example", FixtureTests.example, false), ("every-encoding", everyEncoding, true), ("large", large, true),
        ("blobs", [BlobFormatTests.transaction], false),
    ])
    func `golden files of version 1 say what they always said`(
        name: String, transactions: [Transaction], compresses: Bool
    ) throws {
        let url = Self.root.appending(path: "Fixtures/log-format-1/\(name).tlog")
        let today = try file(transactions, compresses: compresses, content: "golden").bytes
        if ProcessInfo.processInfo.environment["LOGSYNC_WRITE_FIXTURES"] != nil,
            !FileManager.default.fileExists(atPath: url.path)
        {
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(today).write(to: url)
        }
        let golden = [UInt8](try Data(contentsOf: url))
        func joined(_ transactions: [Transaction]) -> [Transaction] {
            transactions.map { Transaction(header: $0.header, groups: $0.joined) }
        }
        #expect(joined(try readAll(golden)) == transactions)
        #expect(try LogFileReader(MemorySource(golden)).header.content == "golden")
        #expect(joined(try readAll(today)) == transactions)
        // What is compressed may be so by another release of zstd.
        if !compresses { #expect(today == golden) }
        // Seeds rely on it: the same transaction has the same chain hash whichever release made it.
        #expect(
            try LogFileReader(MemorySource(today)).chainAfter() == LogFileReader(MemorySource(golden)).chainAfter())
    }

    @Test func `the worked example of the format document is the example, byte for byte`() throws {
        let document = try String(contentsOf: Self.root.appending(path: "Documentation/log-format.md"), encoding: .utf8)
        let block = try #require(
            document.components(separatedBy: "```hex\n").dropFirst().first?.components(separatedBy: "```").first)
        // Each line: bytes in hex, two spaces or more, what they are.
        let digits = block.split(separator: "\n").map { line in
            (line.range(of: "  ").map { line[..<$0.lowerBound] } ?? line).filter { $0 != " " }
        }
        #expect(Hex.decode(digits.joined()) == (try file(Self.example, content: "golden").bytes))
    }
}
