import LogSyncModel
import LogSyncSQLite

extension UndeclaredReferences {
    /// Offers first, of columns of one name in several tables, what most of them seem to refer to (`DeviceRowID`): what few
    /// rows hold may be any table's.
    func agreeing(_ reports: [ReferenceReport]) throws -> [ReferenceReport] {
        let columns = Dictionary(grouping: reports) { $0.column.folded }
        var parents: [String: String] = [:]
        for (name, reports) in columns {
            let tables = Set(reports.map(\.table)).count
            let named = ReferringName(name)
            guard tables > 2, !named.isAnyReference, !named.isRelative, !named.isAgent,
                reports.allSatisfy({ $0.type == nil })
            else { continue }
            let counts = Dictionary(reports.map { ($0.parent, 1) }, uniquingKeysWith: +)
            let most = counts.filter { $0.value * 2 > tables }.max { ($0.value, $1.key) < ($1.value, $0.key) }
            guard let most, counts.filter({ $0.value == most.value }).count == 1 else { continue }
            parents[name] = most.key
        }
        var agreed: [ReferenceReport] = []
        var done: Set<String> = []
        for report in reports {
            guard let name = parents[report.column.folded], let parent = catalog[local: name],
                let table = catalog[local: report.table], parent !== table,
                done.insert("\(report.table).\(report.column)".folded).inserted,
                report.parent != name, try integers.isMostlyOf(parent, report.column, in: table)
            else {
                agreed.append(report)
                continue
            }
            var first = report
            first.parent = name
            agreed += [first, report]
        }
        // What comes first of a column stands for it.
        var seen: Set<String> = []
        return agreed.filter { seen.insert("\($0.table).\($0.column) \($0.parent)").inserted }
    }
}
