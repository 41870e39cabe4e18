import LogSync

/// What a daemon is to do: its flags and its configuration, taken together.
struct DaemonPlan: Sendable {
    let session: Session
    /// Absolute paths, in the order given, each once.
    let stores: [String]
    let configuration: SyncConfiguration
    let onImport: String?
    let carrier: CarrierSettings
    let metrics: ListenAddress?

    /// What another plan did not say, or says no more, as parts of a sentence.
    func changes(since former: DaemonPlan) -> [String] {
        let (came, went) = (
            stores.filter { !former.stores.contains($0) }, former.stores.filter { !stores.contains($0) }
        )
        var changes: [String] = []
        if !came.isEmpty { changes.append("from now on \(Self.list(came))") }
        if !went.isEmpty { changes.append("no more \(Self.list(went))") }
        for hook in Hook.allCases where former.command(of: hook) != nil && command(of: hook) == nil {
            changes.append("\(hook.rawValue) is run no more")
        }
        if former.metrics != nil, metrics == nil { changes.append("metrics are served no more") }
        return changes
    }

    /// What is run for a hook; nil for nothing.
    func command(of hook: Hook) -> String? {
        switch hook {
        case .onImport: onImport
        case .beforeScan: carrier.beforeScan
        case .afterPublish: carrier.afterPublish
        }
    }

    /// How many stores are named.
    private static let named = 5

    private static func list(_ stores: [String]) -> String {
        let more = stores.count > named ? ["and \(stores.count - named) more"] : []
        return (stores.prefix(named) + more).joined(separator: ", ")
    }
}
