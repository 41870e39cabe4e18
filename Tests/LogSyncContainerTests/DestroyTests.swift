import Foundation
import LogSyncModel
import Testing

@testable import LogSyncContainer

@Suite("A content folder is removed whole, and nothing else")
struct DestroyTests {
    let folder = NSTemporaryDirectory() + "logsync-destroy-\(UUID().uuidString)"

    private func content(_ name: String = "notes") throws -> ContentFolder {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return ContentFolder(container: folder, name: try ContentName(checking: name))
    }

    private func clear() { try? FileManager.default.removeItem(atPath: folder) }

    @Test("Files of any depth and kind are counted and go; what links lead to stays")
    func whole() throws {
        defer { clear() }
        let content = try content()
        try content.create()
        let peer = PeerID(high: 1, low: 2)
        try content.peer(peer).create()
        let outside = folder + "/outside"
        try FileManager.default.createDirectory(atPath: outside + "/deep", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: content.peersPath + "/link", withDestinationPath: outside)
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: content.peer(peer).path + "/logs/strange"))
        let contents = try content.contents()
        #expect(contents.peers == [peer] && contents.files == 3, "the marker, the link and the strange file")
        try content.destroy()
        #expect(!FileManager.default.fileExists(atPath: content.path))
        #expect(FileManager.default.fileExists(atPath: outside + "/deep"))
    }

    @Test("Another content's folder, a plain folder and a file are refused")
    func refused() throws {
        defer { clear() }
        let content = try content()
        #expect(throws: LogSyncError.self) { try content.destroy() }
        try FileManager.default.createDirectory(atPath: content.path + "/photos", withIntermediateDirectories: true)
        #expect(throws: LogSyncError.self) { try content.destroy() }
        try Data("{\"content\":\"other\",\"format\":1}\n".utf8).write(to: URL(fileURLWithPath: content.markerPath))
        let error = #expect(throws: LogSyncError.self) { try content.destroy() }
        #expect(error?.code == .configuration)
        #expect(FileManager.default.fileExists(atPath: content.path + "/photos"))
        let file = try self.content("file")
        try Data([1]).write(to: URL(fileURLWithPath: file.path))
        #expect(throws: LogSyncError.self) { try file.destroy() }
        #expect(FileManager.default.fileExists(atPath: file.path))
    }
}
