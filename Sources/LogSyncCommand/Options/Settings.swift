import ArgumentParser
import Foundation
import LogSync
import LogSyncContainer

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

    /// The configuration file; nil where none was given and there is no default one.
    private(set) var file: String?
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
        var (found, path) = try SettingsFile.read(file ?? given("LOGSYNC_CONFIG"), environment: environment)
        self.file = path
        for key in Key.allCases {
            if let text = given(key.variable) {
                found[key] = GivenSetting(text: text, source: "the environment variable \(key.variable)")
            }
        }
        container = try found[.container].map { HomeDirectory.expand(try $0.path($0.text), environment) }
        content = try found[.content].map { try $0.checked(ContentName($0.text) == nil ? Self.contentFault : nil) }
        peer = try found[.peer].map { given in
            try given.checked(PeerName.fault(in: given.text).map { "cannot be a peer's name: \($0)" })
        }
        // In the environment as in $PATH; in the file they cannot be taken apart wrongly.
        stores =
            try (found[.stores]?.list ?? found[.stores]?.text.split(separator: ":").map(String.init) ?? [])
            .map { HomeDirectory.expand(try found[.stores]?.path($0) ?? $0, environment) }
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

    private static let contentFault =
        "is not a content name: at most 63 of a-z, 0-9, dot, dash and underscore, with a letter or digit first"

    /// Whether nothing has changed but where it is said.
    func isSame(as other: Settings) -> Bool {
        var (here, there) = (self, other)
        (here.file, there.file) = (nil, nil)
        return here == there
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
        guard let value = T(argument: text) else { throw refusal(of: text, "is not \(form)") }
        return value
    }

    /// - Parameter fault: what is wrong with the text, as it reads after "which"; nil where nothing is.
    fileprivate func checked(_ fault: String?) throws -> String {
        if let fault { throw refusal(of: text, fault) }
        return text
    }

    /// - Parameter path: the text, or one of its list.
    fileprivate func path(_ path: String) throws -> String {
        guard !path.isEmpty else { throw refusal(of: path, "is no path") }
        return path
    }

    private func refusal(of text: String, _ fault: String) -> LogSyncError {
        LogSyncError(
            .configuration,
            "\(source) \(list == nil ? "is" : "has") \(text.debugDescription), which \(fault); nothing was done",
            help: "Correct it, or give the option instead")
    }
}
