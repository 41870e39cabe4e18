/// What is found where others write meanwhile: trouble is what a second look finds again.
///
/// A folder is not listed at one moment, and a file that was listed may have been merged into another before it is read; so
/// the first look may find trouble that never was. What is wrong stays so, and is found by the next look as well.
struct RepeatedExamination {
    /// How often it is looked, at most.
    static let limit = 6

    private var found: [Finding]
    private var confirmed: Set<Trouble> = []
    private var count = 1

    /// What makes two findings the same: what they tell of times and lengths may have moved on.
    private struct Trouble: Hashable {
        let code: String
        let what: String
        let place: String

        init(_ finding: Finding) {
            code = finding.code
            what = finding.what
            place = finding.place
        }
    }

    init(_ found: [Finding]) { self.found = found }

    /// Whether there is something that has to be looked at again.
    var isDoubtful: Bool { count < Self.limit && found.contains(where: isDoubtful) }

    private func isDoubtful(_ finding: Finding) -> Bool {
        finding.severity != .note && !confirmed.contains(Trouble(finding))
    }

    /// - Parameter again: what another look has found; nil where nothing has changed since the last one.
    mutating func add(_ again: [Finding]?) {
        let before = Set(found.map(Trouble.init))
        found = again ?? found
        confirmed.formUnion(found.map(Trouble.init).filter(before.contains))
        count += 1
    }

    /// What the last look has found and the one before it, too; and that there was more, where there was.
    ///
    /// - Parameter place: what was looked at.
    func findings(at place: String) -> [Finding] {
        let certain = found.filter { !isDoubtful($0) }
        return certain.count == found.count ? certain : certain + [Self.inUse(place)]
    }

    /// That it could not be told whether all is well.
    static func inUse(_ place: String) -> Finding {
        Finding(
            "in-use", .note, "it was written while it was looked at, so that not all of it could be told", at: place,
            why: "each look found something else", help: "run it again; or stop what writes it, for as long as it runs")
    }
}
