import Foundation
import LogSyncModel
import Testing

@testable import LogSyncContainer

@Suite struct WritableTests {
    let folder: TemporaryFolder
    let content: ContentFolder

    init() throws {
        folder = try TemporaryFolder()
        content = try makeContent(folder)
    }

    @Test func `A folder that may be written to is writable before and after its peer's is made`() throws {
        try content.peer(alice).checkWritable()
        try content.peer(alice).create()
        try content.peer(alice).checkWritable()
        #expect(try folder.files() == ["notes/logsync.json"])
    }

    @Test func `A directory that is not there is said to be absent`() {
        let error = #expect(throws: FileSystemError.self) {
            try PosixFileSystem().checkWritable(folder.path + "/absent")
        }
        #expect(error?.isAbsence == true)
    }

    @Test(.enabled(if: geteuid() != 0, "the superuser may write everywhere"), arguments: ["logs", "snapshots", ""])
    func `A directory without write permission is said to be so, wherever this peer writes`(name: String) throws {
        let peer = content.peer(alice)
        try peer.create()
        let path = name.isEmpty ? peer.path : "\(peer.path)/\(name)"
        try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: path)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path) }
        let error = #expect(throws: FileSystemError.self) { try peer.checkWritable() }
        #expect(error?.number == EACCES && error?.path == path)
    }

    @Test func `A file system without blocks is not taken for a full one`() throws {
        // /proc has none; only the superuser may write there.
        var raw = statvfs()
        try #require(statvfs("/proc", &raw) == 0 && raw.f_blocks == 0)
        do throws(FileSystemError) {
            try PosixFileSystem().checkWritable("/proc")
        } catch {
            #expect(error.number != ENOSPC)
        }
    }

    /// As rclone's mounts say it: a billion files, and none free.
    @Test(arguments: [(true, true), (false, false)])
    func `a mount that counts no files is not full for want of them`(countsFiles: Bool, isFull: Bool) {
        var status = statvfs()
        status.f_frsize = 4096
        (status.f_blocks, status.f_bfree, status.f_bavail) = (1 << 20, 1 << 19, 1 << 19)
        (status.f_files, status.f_ffree, status.f_favail) = (1_000_000_000, 0, 0)
        #expect(Posix.isFull(status, countsFiles: countsFiles) == isFull)
        (status.f_bfree, status.f_bavail) = (0, 0)
        #expect(Posix.isFull(status, countsFiles: countsFiles), "no room is no room")
    }
}
