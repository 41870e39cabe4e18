import LogSyncModel
import LogSyncSQLite

/// Phase `assignIdentities`.
extension TableRecording {
    /// Finds the identities of touched rows but for those of natural keys, which are made when the rows are read: they
    /// may hold identities of rows in tables to come.
    ///
    /// A row that has another identity now, or another integer, adds the rows that hold that integer to what is
    /// captured.
    ///
    /// - Returns: whether there was a row to identify.
    func assignIdentities() throws -> Bool {
        var isAny = false
        for key in captured.sortedKeys() {
            guard let touched = captured.touched[key], !touched.isIdentified else { continue }
            isAny = true
            captured.update(key) { $0.isIdentified = true }
            let former = try touched.origin.flatMap { try clock.identity(at: $0) }
            var identity = former
            switch table.kind {
            case .surrogate:
                if identity == nil { identity = try newSurrogate(touched, key) }
            case .natural:
                guard key.natural == nil, table.schema.integerKey == nil else { continue }
                if identity == nil { identity = try newSurrogate(touched, key) }
            case .columns:
                guard let rowid = key.rowid, let row = try reader.row(at: rowid) else { continue }
                let spelled = try reader.naturalIdentity { try recorder.translated(row.values[$0], $0, in: table) }
                let named = spelled.map(table.named)
                identity = try keepsKey(row, touched) ? former ?? named : named
                if identity == nil { identity = try former ?? newSurrogate(touched, key) }
            }
            captured.update(key) { $0.identity = identity }
            if table.localInteger != nil, let rowid = key.rowid, identity != former || touched.movedFrom != nil,
                // A row that was deleted and inserted as itself leaves its integer what it was.
                identity.map({ tombstones[$0]?.integer != rowid }) ?? true
            {
                try takeInteger(rowid, touched, identity, former: former)
            }
        }
        return isAny
    }

    /// Whether a row whose identity was given under another key has the key that its record knows.
    private func keepsKey(_ row: TableReader.Row, _ touched: TouchedRow) throws -> Bool {
        guard table.keepsIdentities, let record = try touched.origin.flatMap({ try clock.record(at: $0) }) else {
            return false
        }
        return table.key.allSatisfy { key in
            let id = table.columns[key.index].id
            return id < record.digests.count && record.digests[id] == UInt32(truncatingIfNeeded: row.digests[key.index])
        }
    }

    private func newSurrogate(_ touched: TouchedRow, _ key: RowKey) throws -> RowIdentity {
        if table.localInteger != nil, let rowid = key.rowid,
            let reserved = try identities.reservedIdentity(of: rowid, in: table),
            try HiddenRows(store).row(table.name, reserved).map({ $0.state == .dead }) ?? true,
            try !touched.isReturned || clock.row(of: reserved) == nil
        {
            // A row that is parked is a row already: this one came later. So is one of a table that was dropped.
            return reserved
        }
        let isFound = recorder.findings.newTables.contains(table.id) && touched.insertMilliseconds == 0
        if !(isFound && recorder.findings.tablesByValues.contains(table.id)),
            let only = table.onlyIdentity(at: key.rowid), try clock.row(of: only) == nil
        {
            return only
        }
        if let rowid = key.rowid, touched.isReinserted, let former = deletedIdentity(at: rowid),
            try isStillNamed(rowid)
        {
            return former
        }
        if isFound, let rowid = touched.rowid ?? key.rowid, let row = try reader.row(at: rowid) {
            if let moved = try recorder.arrived.movedIdentity(of: row, table) { return moved }
            // A row that has stayed may have the identity already; of rows that hold the same, without a key, one further.
            var identity = try recorder.arrived.foundIdentity(of: row, rowid, table)
            while try clock.row(of: identity) != nil {
                guard table.key.isEmpty, table.localInteger == nil else {
                    return surrogates.identity(number: touched.number, milliseconds: touched.insertMilliseconds)
                }
                identity = try recorder.arrived.foundIdentity(of: row, rowid, table)
            }
            return identity
        }
        return surrogates.identity(number: touched.number, milliseconds: touched.insertMilliseconds)
    }

    /// The identity of the row that was deleted from an integer since the last recording, of a table whose rows have no
    /// other name.
    private func deletedIdentity(at integer: Int64) -> RowIdentity? {
        guard table.kind == .surrogate, table.localInteger != nil, let identity = formerIdentities[integer] ?? nil,
            tombstones[identity]?.integer == integer
        else { return nil }
        return identity
    }

    /// Whether a row that was there all the time refers to an integer, and did so before: its reference dangled while the
    /// integer was nobody's, so it names the row that takes it.
    private func isStillNamed(_ integer: Int64) throws -> Bool {
        for (child, column) in store.catalog.referrers(of: table) {
            guard let recording = recorder.recording(of: child) else { continue }
            for (key, rowid) in try recorder.referring(child, by: column).rows(holding: integer) {
                if let rowid, recording.simple?.inserted(at: rowid) ?? false { continue }
                // Rows are simple where they have rowids, so that one that nobody has touched has its record there.
                let touched = recording.captured.touched[key]
                if touched == nil, rowid == nil { return true }
                // A row that came meanwhile names the one that came with it.
                guard let place = touched.map(\.origin) ?? rowid, let record = try recording.clock.record(at: place),
                    let row = try touched.map({ try recording.currentRow(key, $0) }) ?? recording.reader.row(at: place),
                    let position = child.positions[column.name.folded]
                else { continue }
                let wasSame =
                    !record.digests.indices.contains(column.id)
                    || record.digests[column.id] == UInt32(truncatingIfNeeded: row.digests[position])
                if wasSame { return true }
            }
        }
        return false
    }

    /// An integer means a row that it did not mean before.
    private func takeInteger(
        _ rowid: Int64, _ touched: TouchedRow, _ identity: RowIdentity?, former: RowIdentity?
    ) throws {
        let reserved = try identities.reservedIdentity(of: rowid, in: table)
        if reserved != nil { try identities.release(rowid, in: table) }
        // A row that was deleted and inserted elsewhere has left its integer, too, whenever it was deleted.
        let left =
            try touched.movedFrom
            ?? identity.flatMap { try tombstones[$0]?.integer ?? identities.reservedInteger(of: $0, in: table) }
        let mayBeReferredTo =
            former != nil || touched.isReinserted || rowid <= table.high || reserved != nil && reserved != identity
            || left != nil && left != rowid
        if mayBeReferredTo { try recordReferences(to: rowid) }
        if let left, left != rowid {
            let isPromised = try identities.reservedIdentity(of: left, in: table) == identity
            // It may have been promised to the row, and the row may have been shown under it.
            let isInvented = try IntegerAllocator.isInvented(left) && !reader.exists(left)
            if isInvented { try moveReferences(from: left, to: rowid) }
            // Rows are found by what their keys meant before, so before the integer is released.
            try recordReferences(to: left)
            if isPromised {
                formerIdentities[left] = .some(identity)
                try identities.release(left, in: table)
            }
            if isInvented { try identifyInAdvance(left) }
        }
        table.high = max(table.high, rowid)
    }

    /// Lets rows go on referring to one that is here again: what they hold is an integer that no program gave, but
    /// ``IntegerAllocator/reserve(for:in:)``. In a log it would be a number, and elsewhere another row's.
    private func moveReferences(from promised: Int64, to rowid: Int64) throws {
        for (child, column) in store.catalog.referrers(of: table)
        where !child.key.contains(where: { child.columns[$0.index].id == column.id }) {
            let name = SQL.name(column.local)
            try connection.withoutTriggers {
                try connection.run(
                    "UPDATE OR IGNORE \(child.quoted) SET \(name) = ? WHERE \(name) = ?", .integer(rowid),
                    .integer(promised))
            }
            recorder.referring(child, by: column).note(promised, became: rowid)
        }
        try recordReferences(to: rowid)
    }

    /// Promises an integer that no program gave to a row that may come, as if it were above 0, where rows hold it in their keys:
    /// in a log it would be a number, too.
    private func identifyInAdvance(_ invented: Int64) throws {
        let isHeld = try store.catalog.referrers(of: table).contains { child, column in
            try !recorder.referring(child, by: column).rows(holding: invented).isEmpty
        }
        if isHeld { _ = try identities.identity(of: invented, in: table) }
    }

    /// Lets the rows that hold an integer, which means another row now, be recorded again though no program touched
    /// them.
    private func recordReferences(to integer: Int64) throws {
        for (child, column) in store.catalog.referrers(of: table) {
            guard let recording = recorder.recording(of: child) else { continue }
            for (key, rowid) in try recorder.referring(child, by: column).rows(holding: integer) {
                // Such a row is recorded whole in any case.
                if let rowid, recording.simple?.inserted(at: rowid) ?? false { continue }
                try recording.captured.recordReferences(of: key, rowid: rowid, milliseconds: recorder.milliseconds)
            }
        }
    }
}
