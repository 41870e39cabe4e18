import LogSyncModel

/// Which policies have decided what the store shows, beyond what the settings say.
///
/// Of several processes at one store some may lack a policy that programs register in code, as the command line does: what
/// they merge shows the last writer's value. A process that has the policy finds that noted, and decides the contested cells
/// again. The same goes for policies of amounts that are passed over: a column may come to name rows, and earlier versions
/// of logsync followed them everywhere.
extension OpenStore {
    /// Whether contested cells may show what a process has decided that lacks a policy which this one has.
    var isDecidedOtherwise: Bool {
        get throws {
            // Most programs register none, and most contents have none.
            guard policies.hasAny else { return false }
            if try facts.text(StoreFacts.policiesPassedOver) ?? "" != passedOver { return true }
            return try !policies.inCode.isEmpty && !policies.inCode.isSubset(of: decidingPolicies)
        }
    }

    /// Notes that this process has merged what came.
    func noteMerged() throws {
        // Without a lack, what was decided by all still is.
        guard !policies.lacking.isEmpty else { return }
        try setDecidingPolicies(try decidingPolicies)
    }

    /// Notes that this process has decided every contested cell.
    func noteDecided() throws {
        try setDecidingPolicies(try decidingPolicies.union(policies.inCode))
        guard try facts.text(StoreFacts.policiesPassedOver) ?? "" != passedOver else { return }
        try facts.set(StoreFacts.policiesPassedOver, .text(passedOver))
    }

    private var passedOver: String { policies.passedOver.sorted().joined(separator: "\n") }

    private var decidingPolicies: Set<String> {
        get throws { Set(try facts.text(StoreFacts.policiesInCode)?.split(separator: "\n").map(String.init) ?? []) }
    }

    private func setDecidingPolicies(_ names: Set<String>) throws {
        let now = names.subtracting(policies.lacking.map(\.policy))
        guard try now != decidingPolicies else { return }
        try facts.set(StoreFacts.policiesInCode, .text(now.sorted().joined(separator: "\n")))
    }
}
