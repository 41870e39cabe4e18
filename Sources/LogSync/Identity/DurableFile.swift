import Foundation
import LogSyncModel

/// A small file that is replaced durably: written aside, synchronized, renamed, the directory synchronized.
enum DurableFile {
    static func failure(_ path: String, _ what: String, _ number: CInt) -> LogSyncError {
        let sentence = "\(path) could not be \(what): \(String(cString: strerror(number)))"
        guard ![EACCES, EPERM, EROFS].contains(number) else {
            return LogSyncError(
                .noPermission, "\(sentence); what was done before is kept",
                help: StateDirectory.permissionHelp)
        }
        return LogSyncError(
            .ioError, sentence, help: "Free some space there, or check the disk, and run the command again")
    }

    /// - Parameter mayBeUndone: whether a power cut may leave the former file in its place.
    /// - Throws: `ioError`, `noPermission`.
    static func write(_ data: Data, to path: String, mayBeUndone: Bool = false) throws(LogSyncError) {
        let temporary = path + ".tmp"
        func attempt(_ what: String, _ body: () -> Bool) throws(LogSyncError) {
            guard !body() else { return }
            let number = errno
            unlink(temporary)
            throw failure(path, what, number)
        }
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        try attempt("made") { descriptor >= 0 }
        defer { close(descriptor) }
        try attempt("written") {
            data.withUnsafeBytes { bytes in
                var done = 0
                while done < bytes.count {
                    let count = Foundation.write(descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done)
                    if count < 0 && errno == EINTR { continue }
                    if count <= 0 { return false }
                    done += count
                }
                return true
            }
        }
        try attempt("synchronized") { fsync(descriptor) == 0 }
        try attempt("put in place") { rename(temporary, path) == 0 }
        if mayBeUndone { return }
        let directory = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try attempt("synchronized") { directory >= 0 }
        defer { close(directory) }
        try attempt("synchronized") { fsync(directory) == 0 }
    }
}
