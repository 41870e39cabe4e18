import LogSyncFormat
import LogSyncModel
import Testing

@testable import LogSyncStore

/// Exchanges everything, and sees that all peers hold and show the same, that nothing derived is wrong, and that
/// recording again finds nothing.
///
/// - Parameter showsTheSame: false where one of them cannot show what another does.
func agree(
    _ peers: TestPeer..., showsTheSame: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    for _ in 0..<3 {
        for a in peers {
            for _ in peers { for b in peers where a !== b { try a.pull(from: b) } }
        }
    }
    let first = try peers[0].store.audit()
    for peer in peers {
        let audit = try peer.store.audit()
        #expect(audit.problems == [], "\(peer.name)", sourceLocation: sourceLocation)
        for table in Set(audit.shown.keys).union(first.shown.keys).sorted() where showsTheSame {
            let (left, right) = (first.shown[table] ?? [:], audit.shown[table] ?? [:])
            for identity in Set(left.keys).union(right.keys).sorted() where left[identity] != right[identity] {
                Issue.record(
                    "\(table): \(spell(left[identity])) on \(peers[0].name), \(spell(right[identity])) on \(peer.name)",
                    sourceLocation: sourceLocation)
            }
        }
        #expect(try peer.vector() == peers[0].vector(), sourceLocation: sourceLocation)
        #expect(try peer.digest() == peers[0].digest(), sourceLocation: sourceLocation)
        #expect(try peer.recorded() == nil, "a phantom change on \(peer.name)", sourceLocation: sourceLocation)
        #expect(try peer.strings("PRAGMA integrity_check") == ["ok"], sourceLocation: sourceLocation)
    }
}

/// A row of an audit as text.
func spell(_ row: [String: Value]?) -> String {
    guard let row else { return "none" }
    return row.sorted { $0.key < $1.key }.map { column, value in
        switch value {
        case .null: "\(column)=NULL"
        case .integer(let integer): "\(column)=\(integer)"
        case .real(let real): "\(column)=\(real)"
        case .text(let bytes): "\(column)='\(String(decoding: bytes, as: UTF8.self))'"
        case .blob(let bytes): "\(column)=x\(Hex.encode(bytes))"
        case .reference(let identity): "\(column)→\(identity)"
        case .external(let reference): "\(column)=blob \(reference.id)"
        }
    }.joined(separator: " ")
}

extension TestPeer {
    /// What recording now writes down but for settings, as `table +inserted ~updated -deleted`; nil where it is nothing.
    func recorded() throws -> String? {
        let text = try record().map { recorded in
            recorded.counts.filter { $0.key != "logsync_setting" }.sorted { $0.key < $1.key }.map { table, counts in
                "\(table)"
                    + (counts.inserted > 0 ? " +\(counts.inserted)" : "")
                    + (counts.updated > 0 ? " ~\(counts.updated)" : "")
                    + (counts.deleted > 0 ? " -\(counts.deleted)" : "")
            }.joined(separator: ", ")
        }
        return text == "" ? nil : text
    }

    /// The last recorded transaction's row changes.
    func lastGroups() throws -> [RowGroup] {
        try store.groups(of: try #require(try store.outbox(unpublishedOnly: false).last))
    }
}

/// Expects that `body` throws an error of this code.
func expect(
    _ code: LogSyncError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) throws {
    do {
        try body()
        Issue.record("nothing was thrown", sourceLocation: sourceLocation)
    } catch let error as LogSyncError {
        #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    }
}
