import Foundation
import LogSyncModel
import LogSyncSQLite

extension Value {
    /// The values of other types of which SQLite makes this one, where a column of another type takes them.
    var otherTypes: [Value] {
        switch self {
        case .integer(let integer):
            [.real(Double(integer)), .text(String(integer)), .text("\(integer).0")]
        case .real(let real):
            Int64(exactly: real).map { [.integer($0), .text(String($0))] } ?? []
                + [.text("\(real)"), .text(String(format: "%.15g", real))]
        case .text(let bytes):
            [.blob(bytes)] + (Int64(String(text: self)).map { [.integer($0)] } ?? [])
                + (Double(String(text: self)).map { [.real($0)] } ?? [])
        case .blob(let bytes): [.text(bytes)]
        case .null, .reference, .external: []
        }
    }
}
