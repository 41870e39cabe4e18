import ArgumentParser
import Foundation
import LogSync

/// What `LOGSYNC_…` variables and the configuration file say; a flag comes before both.
///
/// Everything is read and checked at once, so that a mistake is found by the first command and not by the one that
/// happens to need the setting.
struct Settings: Equatable, Sendable {
    /// The configuration file's keys; in the environment `on-import` is `LOGSYNC_ON_IMPORT`.
    enum Key: String, CaseIterable {
        case container, content, peer, stores, poll, debounce, wait, metrics, verbose, quiet
        case onImport = "on-import"
        case logFormat = "log-format"
        case beforeScan = "carrier.before-scan"
        case afterPublish = "carrier.after-publish"
        case carrierInterval = "carrier.interval"
        case carrierTimeout = "carrier.timeout"
        case loadExtension = "load-extension"

        var variable: String { "LOGSYNC_" + rawValue.uppercased().replacing(/[-.]/, with: "_") }

        /// The type that the configuration file gives it.
        var kind: SettingKind {
            switch self {
            case .poll, .debounce, .wait, .carrierInterval, .carrierTimeout: .number
            case .verbose, .quiet: .boolean
            case .stores, .loadExtension: .list
            default: .text
            }
        }
    }

    private(set) var container: String?
    private(set) var content: String?
    private(set) var peer: String?
    /// The stores of `watch`, where it is given none.
    private(set) var stores: [String]
    /// As `--load-extension`, FILE or FILE:ENTRY each.
    private(set) var loadExtension: [String]
    private(set) var poll: Seconds?
    private(set) var debounce: Milliseconds?
    private(set) var wait: WaitingTime?
    private(set) var metrics: ListenAddress?
    private(set) var onImport: String?
    private(set) var carrier: CarrierSettings
    private(set) var logFormat: LogOutputFormat?
    private(set) var verbose: Bool?
    private(set) var quiet: Bool?

    /// - Parameters:
    ///   - file: what `--config` names; where nil, the default file, which need not be there.
    /// - Throws: `configuration`, with the file or variable and the key named.
    init(file: String?, environment: [String: String] = ProcessInfo.processInfo.environment) throws {
        func given(_ name: String) -> String? {
            // A unit's EnvironmentFile says `NAME=` where it means nothing.
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        var found = try SettingsFile.read(file ?? given("LOGSYNC_CONFIG"), environment: environment)
        for key in Key.allCases {
            if let text = given(key.variable) {
                found[key] = GivenSetting(text: text, source: "the environment variable \(key.variable)")
            }
        }
        container = found[.container].map { HomeDirectory.expand($0.text, environment) }
        content = found[.content]?.text
        peer = found[.peer]?.text
        // In the environment as in $PATH; in the file they cannot be taken apart wrongly.
        stores =
            (found[.stores]?.list ?? found[.stores]?.text.split(separator: ":").map(String.init) ?? [])
            .map { HomeDirectory.expand($0, environment) }
        // An entry follows a colon.
        loadExtension =
            (found[.loadExtension]?.list ?? found[.loadExtension]?.text.split(separator: ",").map(String.init) ?? [])
            .map { HomeDirectory.expand($0, environment) }
        poll = try found[.poll]?.parsed()
        debounce = try found[.debounce]?.parsed()
        wait = try found[.wait]?.parsed()
        metrics = try found[.metrics]?.parsed(as: "ADDRESS:PORT")
        onImport = found[.onImport]?.text
        carrier = CarrierSettings(
            beforeScan: found[.beforeScan]?.text, afterPublish: found[.afterPublish]?.text,
            interval: try found[.carrierInterval]?.parsed() ?? CarrierSettings().interval,
            timeout: try found[.carrierTimeout]?.parsed() ?? CarrierSettings().timeout)
        logFormat = try found[.logFormat]?.parsed(as: "text or json")
        verbose = try found[.verbose]?.parsed(as: "true or false")
        quiet = try found[.quiet]?.parsed(as: "true or false")
    }
}

/// The commands by which `watch` has what carries the folder fetch and bring.
struct CarrierSettings: Equatable, Sendable {
    var beforeScan: String?
    var afterPublish: String?
    /// Between the end of one run of `before-scan` and the next.
    var interval = Seconds(30)
    /// How long a command may take.
    var timeout = Seconds(300)
}

enum SettingKind: String {
    case text = "text in quotes"
    case number = "a number"
    case boolean = "true or false"
    case list = "a list of texts in quotes"
}

/// A setting's text, and where it stands.
struct GivenSetting {
    var text: String
    /// The texts of a list; nil where it is none.
    var list: [String]?
    var source: String

    fileprivate func parsed<T: NumberArgument>() throws -> T { try parsed(as: T.form) }

    fileprivate func parsed<T: ExpressibleByArgument>(as form: String) throws -> T {
        guard let value = T(argument: text) else {
            throw LogSyncError(
                .configuration, "\(source) is \(text.debugDescription), which is not \(form); nothing was done",
                help: "Correct it, or give the option instead")
        }
        return value
    }
}
