import LogSyncModel

/// The merge policies as pure functions of a set of versions (Documentation/design.md, section 6).
enum OraclePolicy: Equatable {
    case lastWriter, firstWriter, maximum, minimum, union
    case prefer([String])

    /// Reads a setting's value; what is none of these, or unknown here, shows the last writer's.
    init(_ text: String) {
        switch text {
        case "first-writer": self = .firstWriter
        case "max": self = .maximum
        case "min": self = .minimum
        case "union": self = .union
        default:
            self =
                text.hasPrefix("prefer ")
                ? .prefer(text.dropFirst(7).split(separator: ",").map(String.init)) : .lastWriter
        }
    }

    /// Asked only where there is a conflict: two or more versions.
    func value(of versions: Set<OracleState.Version>, names: [PeerID: String]) -> Value {
        let ordered = versions.sorted {
            ($0.time, $0.dot.peer, $0.dot.sequence) < ($1.time, $1.dot.peer, $1.dot.sequence)
        }
        guard ordered.count > 1, let last = ordered.last else { return ordered.last?.value ?? .null }
        switch self {
        case .lastWriter: return last.value
        case .firstWriter: return ordered[0].value
        case .maximum:
            // Of equal ones the last writer's.
            return ordered.last { version in ordered.allSatisfy { Self.order($0.value, version.value) <= 0 } }?.value
                ?? last.value
        case .minimum:
            let present = ordered.filter { !$0.value.isNull }
            return present.last { version in present.allSatisfy { Self.order(version.value, $0.value) <= 0 } }?.value
                ?? .null
        case .prefer(let peers):
            for peer in peers {
                if let version = ordered.last(where: { names[$0.dot.peer] == peer }) { return version.value }
            }
            return last.value
        case .union:
            var elements: [String] = []
            for version in ordered where !version.value.isNull {
                guard case .text(let bytes) = version.value,
                    let parts = Self.elements(String(decoding: bytes, as: UTF8.self))
                else { return last.value }
                for part in parts where !elements.contains(part) { elements.append(part) }
            }
            return .text("[" + elements.joined(separator: ",") + "]")
        }
    }

    /// The elements of a flat JSON array without white space, which is all that programs here write.
    private static func elements(_ text: String) -> [String]? {
        guard text.hasPrefix("["), text.hasSuffix("]") else { return nil }
        return text.dropFirst().dropLast().split(separator: ",").map(String.init)
    }

    /// SQLite's order: NULL, numbers, texts, blobs; references after all.
    static func order(_ a: Value, _ b: Value) -> Int {
        func rank(_ value: Value) -> Int {
            switch value {
            case .null: 0
            case .integer, .real: 1
            case .text: 2
            case .blob: 3
            case .reference: 4
            case .external: 5
            }
        }
        func number(_ value: Value) -> Double {
            switch value {
            case .integer(let integer): Double(integer)
            case .real(let real): real
            default: 0
            }
        }
        func compare<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a > b ? 1 : 0 }
        if rank(a) != rank(b) { return compare(rank(a), rank(b)) }
        switch (a, b) {
        // The programs' numbers are small: a double holds them.
        case (.integer, _), (.real, _): return compare(number(a), number(b))
        case (.text(let a), .text(let b)), (.blob(let a), .blob(let b)):
            return a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
        case (.reference(let a), .reference(let b)): return compare(a, b)
        default: return 0
        }
    }

    /// The sum of the amounts whose base is there, added in the order of base and peer.
    static func add(_ additions: [OracleState.AdditionKey: OracleState.Addition], to value: Value) -> Value {
        var sum = value
        for (_, addition) in additions.sorted(by: { ($0.key.base, $0.key.peer) < ($1.key.base, $1.key.peer) }) {
            switch (sum, addition.cumulative) {
            case (.integer(let a), .integer(let b)):
                let (result, overflows) = a.addingReportingOverflow(b)
                sum = overflows ? .real(Double(a) + Double(b)) : .integer(result)
            case (.integer(let a), .real(let b)): sum = .real(Double(a) + b)
            case (.real(let a), .integer(let b)): sum = .real(a + Double(b))
            case (.real(let a), .real(let b)): sum = .real(a + b)
            default: break
            }
        }
        return sum
    }
}
