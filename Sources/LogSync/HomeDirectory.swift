import Foundation

/// What `~` means in a path that no shell has seen: what a shell means by it.
package enum HomeDirectory {
    /// `$HOME`, where that is an absolute path; else what the user database says, which is another under `sudo` and in
    /// containers.
    package static func path(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> String {
        environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
    }

    /// The path, with the home directory in place of a `~` at its beginning.
    ///
    /// - Parameter environment: read only where it is needed, because to read it takes longer than all else here.
    package static func expand(
        _ path: String, _ environment: @autoclosure () -> [String: String] = ProcessInfo.processInfo.environment
    ) -> String {
        path == "~" || path.hasPrefix("~/") ? self.path(environment()) + path.dropFirst() : path
    }
}
