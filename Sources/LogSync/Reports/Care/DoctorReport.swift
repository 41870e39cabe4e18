/// What ``Replicator/doctor(_:configuration:)`` found.
public struct DoctorReport: Sendable, Encodable {
    public let format = 1
    /// The store or the folder.
    public var path: String
    /// The gravest first.
    public var findings: [Finding] = [] {
        didSet { findings = Self.sorted(findings) }
    }

    /// What was done about findings, or would be; nil where that was not asked for.
    public var repairs: [Repair]?

    public var outcome: Outcome { Outcome(findings: findings) }

    init(path: String) {
        self.path = path
    }

    private static func sorted(_ findings: [Finding]) -> [Finding] {
        let order: [Finding.Severity] = [.damage, .trouble, .note]
        return order.flatMap { severity in findings.filter { $0.severity == severity } }
    }

    private enum CodingKeys: String, CodingKey {
        case format, path, findings, repairs
    }
}
