import LogSyncModel
import LogSyncSQLite

/// Where a migration's own writes end among what was captured of a table in which columns have just appeared, or that was
/// made anew.
///
/// A trigger says that a row was written, not by whom. A migration that fills a column goes over the rows: by a statement,
/// all of whose rows have its time, or one row after the other in the order of keys; where there is one row, its first write
/// is that. What is written to a row after the last such pass is the program's, and no fill. So are several rows that are written
/// at once when a pass has gone over all of them before, if not soon after that, and in order, as one statement writes them.
struct MigrationPass {
    /// The last pending number of the last pass; 0 where there was none.
    private(set) var end: Int64 = 0
    /// When rows that were there were last written one at a time, in no pass.
    private(set) var programWrites: [RowKey: Int64] = [:]
    /// Rows that were there and were written, alone or by a statement that did not write all rows.
    private(set) var edits: Set<RowKey> = []
    /// Rows that have come meanwhile.
    private(set) var inserted: Set<RowKey> = []
    /// When rows were written before the statements that went over all of them, in milliseconds since 1970, and nil for a
    /// row that was not: rows that nobody has written after it. (One by one, a program may write a few in their order, too.)
    private(set) var writesBefore: [RowKey: Int64?] = [:]
    /// Whether rows were compared after it, as the triggers had gone.
    private(set) var isBeforeRebuild = false

    private var latest: [RowKey: (number: Int64, milliseconds: Int64)] = [:]
    private var single: [(key: RowKey, number: Int64, milliseconds: Int64)] = []
    private var firstNumber: Int64 = 0

    private var rows: Set<RowKey> = []
    /// Whether these were written in the order of their keys.
    private var areInOrder = true
    /// When the last pass over all rows was, in milliseconds since 1970; nil where there was none.
    private var lastWhole: Int64?
    /// For how long, in milliseconds, a migration goes on after such a pass has begun: it takes longer the more rows there are.
    private var pause: Int64 { 300 + all / 50 }
    private var milliseconds: Int64?
    private var ascending: (count: Int64, last: RowKey?) = (0, nil)
    private var lastNumber: Int64 = 0
    /// The rows that there were, and by how many they are fewer.
    private let all: Int64
    private var fewer: Int64 = 0
    /// The rows that a pass goes over.
    private var remaining: Int64 { all - max(0, fewer) }
    private let passes: CapturedPasses

    init(_ table: TrackedTable, on connection: Connection) throws {
        all = try connection.integer("SELECT count(*) FROM \(table.clock)") ?? 0
        passes = try CapturedPasses(over: table.clock, in: table.pending, after: table.recorded, on: connection)
        var firstNotedAnew = Int64.max
        let keys = table.capturesKey ? table.key.indices.map { ", k\($0)" }.joined() : ""
        let statement = try Statement(
            "SELECT number, kind, row, ms\(keys) FROM \(table.pending) WHERE number > ? ORDER BY number", on: connection
        )
        statement.bind(table.recorded, at: 1)
        while try statement.step() {
            let rowid = statement.isNull(2) ? nil : statement.integer(2)
            let kind = Capture.Kind(rawValue: statement.integer(1))
            guard let key = CapturedChanges.key(in: table, rowid: rowid, value: { statement.value(4 + $0) }) else {
                // What follows was captured under another key, and says when programs wrote (``ClockLayoutChange``).
                if kind == .found { firstNotedAnew = min(firstNotedAnew, statement.integer(0)) }
                continue
            }
            take(kind, key, number: statement.integer(0), milliseconds: statement.integer(3))
        }
        endStatement()
        endOrder()
        for write in single where !inserted.contains(write.key) { programWrites[write.key] = write.milliseconds }
        edits.formUnion(programWrites.keys)
        single = []
        let last = passes.numbers.last { $0.upperBound < firstNotedAnew }
        writesBefore = writesBefore.filter { key, _ in
            latest[key].flatMap { write in last.map { $0.contains(write.number) } } ?? false
        }
        latest = [:]
    }

    private mutating func take(_ kind: Capture.Kind?, _ key: RowKey, number: Int64, milliseconds: Int64) {
        guard kind == .update else {
            endStatement()
            endOrder()
            // No trigger saw when it was written.
            switch kind {
            case .found:
                end = number
                isBeforeRebuild = true
            case .delete: fewer += 1
            case .insert, .returned, .rekeyedTo:
                if kind == .insert { fewer -= 1 }
                inserted.insert(key)
                latest[key] = (number, milliseconds)
            default: break
            }
            return
        }
        if self.milliseconds != milliseconds || rows.contains(key) { endStatement() }
        if let last = ascending.last, !Self.precedes(last, key) {
            endOrder()
            areInOrder = rows.isEmpty
        }
        if ascending.last == nil { firstNumber = number }
        let former = latest[key]
        if !passes.isEmpty, !(former.map { passes.contains($0.number) } ?? false) {
            writesBefore[key] = .some(former?.milliseconds)
        }
        latest[key] = (number, milliseconds)
        rows.insert(key)
        self.milliseconds = milliseconds
        ascending = (ascending.count + 1, key)
        lastNumber = number
    }

    private mutating func endStatement() {
        // Of a table's only row the first write goes over all rows; what comes after it does not.
        let isOnly = rows.count == 1 && all == 1 && end == 0 && single.isEmpty
        let isWhole = rows.count >= remaining
        let isLate = !isWhole && isAfterWhole
        if rows.count > 1 && !isLate || isOnly {
            end = lastNumber
            if isWhole { lastWhole = milliseconds } else { edits.formUnion(rows) }
        } else if let milliseconds {
            for key in rows { single.append((key, lastNumber, milliseconds)) }
        }
        (rows, areInOrder, milliseconds) = ([], true, nil)
    }

    /// Whether the rows at hand were written by no statement of a migration that has gone over all rows before.
    private var isAfterWhole: Bool {
        guard let lastWhole, let milliseconds else { return false }
        return !areInOrder || milliseconds - lastWhole > pause
    }

    /// Two rows may well be written in order by chance.
    private mutating func endOrder() {
        if ascending.count > 2, ascending.count >= remaining {
            end = lastNumber
            lastWhole = milliseconds ?? single.last?.milliseconds ?? lastWhole
            while let last = single.last, last.number >= firstNumber { single.removeLast() }
        }
        ascending = (0, nil)
    }

    private static func precedes(_ a: RowKey, _ b: RowKey) -> Bool {
        if let a = a.natural, let b = b.natural { return a < b }
        return (a.rowid ?? .min) < (b.rowid ?? .min)
    }
}
