extension String {
    /// This path, name or value as an argument of a command that a message shows, to be typed as it stands.
    package var asShellArgument: String {
        let isPlain =
            !isEmpty
            && utf8.allSatisfy {
                ($0 >= 0x30 && $0 <= 0x39) || ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A) || "._=/-".utf8.contains($0)
            }
        return isPlain ? self : "'" + replacing("'", with: "'\\''") + "'"
    }
}
