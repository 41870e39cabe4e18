import GRDBSQLite

/// Whether triggers fire whose conditions ask for it, by a function of the connection. Other than by dropping them, SQLite
/// turns TEMP triggers off for nobody.
final class TriggerSwitch {
    fileprivate static let function = "logsync_fires"

    fileprivate var isOn = true

    /// A function that nobody calls any more lets go of this object, which may be later than our connection goes.
    fileprivate init(on handle: OpaquePointer) {
        sqlite3_create_function_v2(
            handle, Self.function, 0, SQLITE_UTF8 | SQLITE_INNOCUOUS, Unmanaged.passRetained(self).toOpaque(),
            { context, _, _ in
                guard let object = sqlite3_user_data(context) else { return }
                let isOn = Unmanaged<TriggerSwitch>.fromOpaque(object).takeUnretainedValue().isOn
                sqlite3_result_int(context, isOn ? 1 : 0)
            }, nil, nil, { $0.map { Unmanaged<TriggerSwitch>.fromOpaque($0).release() } })
    }
}

extension Connection {
    /// SQL for a condition that holds but within ``withoutSwitchedTriggers(_:)``.
    package func switchCondition() -> String {
        triggerSwitch = triggerSwitch ?? TriggerSwitch(on: handle)
        return "\(TriggerSwitch.function)()"
    }

    /// Runs `body` while the triggers do not fire that have ``switchCondition()``.
    package func withoutSwitchedTriggers<Result>(_ body: () throws -> Result) rethrows -> Result {
        triggerSwitch?.isOn = false
        defer { triggerSwitch?.isOn = true }
        return try body()
    }
}
