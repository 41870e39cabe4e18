import LogSyncModel

/// Which of the policies that programs register in code have decided what the store shows.
///
/// Of several processes at one store some may lack one, as the command line does: what they merge shows the last writer's
/// value. A process that has the policy finds that noted, and decides the contested cells again.
extension OpenStore {
    /// Whether contested cells may show what a process has decided that lacks a policy which this one has.
    var isDecidedOtherwise: Bool {
        get throws {
            // Most programs register none.
            guard !policies.inCode.isEmpty else { return false }
            return try !policies.inCode.isSubset(of: decidingPolicies)
        }
    }

    /// Notes that this process has merged what came.
    func noteMerged() throws {
        // Without a lack, what was decided by all still is.
        guard !policies.lacking.isEmpty else { return }
        try setDecidingPolicies(try decidingPolicies)
    }

    /// Notes that this process has decided every contested cell.
    func noteDecided() throws { try setDecidingPolicies(try decidingPolicies.union(policies.inCode)) }

    private var decidingPolicies: Set<String> {
        get throws { Set(try facts.text(StoreFacts.policiesInCode)?.split(separator: "\n").map(String.init) ?? []) }
    }

    private func setDecidingPolicies(_ names: Set<String>) throws {
        let now = names.subtracting(policies.lacking.map(\.policy))
        guard try now != decidingPolicies else { return }
        try facts.set(StoreFacts.policiesInCode, .text(now.sorted().joined(separator: "\n")))
    }
}
