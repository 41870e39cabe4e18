import Foundation

/// Carries files between shared folders, as a sync engine does.
enum Courier {
    static func copy(_ from: String, to: String) throws { _ = try match(from, to: to) }

    /// Makes a folder what another one is. Returns whether anything was not so.
    static func match(_ from: String, to: String) throws -> Bool {
        let (source, target) = (try files(from), try files(to))
        var isNews = false
        for (name, content) in source where target[name] != content {
            let path = "\(to)/\(name)"
            let folder = (path as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try content.write(to: URL(fileURLWithPath: path), options: .atomic)
            isNews = true
        }
        for name in target.keys where source[name] == nil {
            try FileManager.default.removeItem(atPath: "\(to)/\(name)")
            isNews = true
        }
        return isNews
    }

    /// By their paths in the folder; none where it is not there.
    private static func files(_ folder: String) throws -> [String: Data] {
        var found: [String: Data] = [:]
        let names = FileManager.default.enumerator(atPath: folder)
        while let name = names?.nextObject() as? String {
            let path = "\(folder)/\(name)"
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), !isDirectory.boolValue else {
                continue
            }
            found[name] = try Data(contentsOf: URL(fileURLWithPath: path))
        }
        return found
    }
}
