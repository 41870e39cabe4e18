import Foundation

/// Whose a file is.
enum FileOwner {
    /// The owner's name, or number where no name is known; nil where the file cannot be looked at.
    static func name(of path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return name(status.st_uid)
    }

    static func name(_ user: uid_t) -> String {
        var (entry, result) = (passwd(), UnsafeMutablePointer<passwd>?.none)
        var buffer = [CChar](repeating: 0, count: 1 << 14)
        guard getpwuid_r(user, &entry, &buffer, buffer.count, &result) == 0, result != nil, let name = entry.pw_name
        else { return String(user) }
        return String(cString: name)
    }

    /// The reason why this user may not do something with a file that is there; nil where he may.
    ///
    /// - Parameter mode: as of access(2).
    static func refusal(_ path: String, _ mode: CInt) -> CInt? {
        guard faccessat(AT_FDCWD, path, mode, AT_EACCESS) != 0, [EACCES, EPERM, EROFS].contains(errno) else {
            return nil
        }
        return errno
    }
}
