/// Something that `logsync doctor` or `logsync verify` found.
public struct Finding: Hashable, Sendable, Encodable {
    public enum Severity: String, Hashable, Sendable, Codable, CaseIterable {
        /// Good to know; nothing is wrong.
        case note
        /// Something waits or wants to be done.
        case trouble
        /// Something is damaged, forked or contradicts its hash.
        case damage
    }

    /// What kind of finding it is, stable across releases: `damaged-file`, `silent-peer`, …
    public var code: String
    public var severity: Severity
    /// One sentence.
    public var what: String
    /// The file, table or peer.
    public var place: String
    /// How it comes about, or what follows from it, as a sentence.
    public var why: String
    /// The command or deed that helps; nil where nothing need be done.
    public var help: String?
    /// What `logsync doctor --repair` does about the file at this place; nil where it leaves it.
    var repair: DoctorReport.Repair.Action?

    init(
        _ code: String, _ severity: Severity, _ what: String, at place: String, why: String, help: String? = nil,
        repair: DoctorReport.Repair.Action? = nil
    ) {
        self.code = code
        self.severity = severity
        self.what = what
        self.place = place
        self.why = why
        self.help = help
        self.repair = repair
    }

    private enum CodingKeys: String, CodingKey {
        case code, severity, what
        case place = "where"
        case why, help
    }
}

extension Outcome {
    /// Integrity where something is damaged, held where something is amiss, otherwise complete.
    init(findings: [Finding]) {
        if findings.contains(where: { $0.severity == .damage }) {
            self = .integrity
        } else {
            self = findings.contains { $0.severity == .trouble } ? .held : .complete
        }
    }
}
