import Foundation
import Testing

/// What `make install` and `make package` put where.
@Suite(.turn) struct PackagingTests {
    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    private let tool: Tool

    init() throws { tool = try Tool() }

    private func shell(_ script: String) async throws -> Tool.Ended {
        try await tool.start(program: "/bin/sh", ["-euc", script]).end()
    }

    private func files(_ folder: String) -> [String] {
        (FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] ?? []).filter {
            var isDirectory: ObjCBool = false
            return FileManager.default.fileExists(atPath: "\(folder)/\($0)", isDirectory: &isDirectory)
                && !isDirectory.boolValue
        }.sorted()
    }

    @Test func `each subcommand has a manual page with each of its options`() async throws {
        let folder = tool.path("man")
        let made = try await shell("'\(Self.sources)/Packaging/manual' '\(Tool.path)' '\(folder)'")
        #expect(made.code == 0, "\(made.errors)")
        let help = try await tool.run("--help").lines
        let subcommands = help.drop { !$0.hasPrefix("SUBCOMMANDS") }.dropFirst()
            .prefix { $0.hasPrefix("  ") }.filter { $0.dropFirst(2).first?.isLowercase == true }.compactMap {
                $0.split(separator: " ").first
            }
        #expect(subcommands.count > 20)
        let overview = try String(contentsOfFile: folder + "/logsync.1", encoding: .utf8)
        for subcommand in subcommands {
            let page = try String(contentsOfFile: "\(folder)/logsync-\(subcommand).1", encoding: .utf8)
            #expect(overview.contains("\\fBlogsync\\-\(subcommand)\\fR(1)"), "\(subcommand)")
            let text = page.replacing("\\-", with: "-")
            for option in try await tool.run(String(subcommand), "--help").output.matches(of: /^  .*?(--[a-z-]+)/)
            where !page.contains(".SH SUBCOMMANDS") {
                #expect(text.contains("\\fB\(option.1)\\fR") || text.contains(option.1), "\(subcommand)")
            }
        }
        for section in ["EXIT STATUS", "CONFIGURATION"] { #expect(overview.contains(".SH \(section)\n")) }
        #expect(overview.contains("LOGSYNC_CONTAINER"))
    }

    @Test func `what is installed works under its prefix, and is removed whole`() async throws {
        let (install, root) = ("'\(Self.sources)/Packaging/install'", tool.path("root"))
        let installed = try await shell("\(install) '\(Tool.path)' /opt/x '\(root)'")
        #expect(installed.code == 0, "\(installed.errors)")
        let found = files(root)
        for file in [
            "bin/logsync", "lib/systemd/system/logsync.service", "lib/systemd/user/logsync@.service",
            "share/bash-completion/completions/logsync", "share/zsh/site-functions/_logsync",
            "share/fish/vendor_completions.d/logsync.fish", "share/man/man1/logsync.1", "share/man/man1/logsync-init.1",
        ] {
            #expect(found.contains("opt/x/" + file), "\(file)")
        }
        let unit = try String(contentsOfFile: root + "/opt/x/lib/systemd/system/logsync.service", encoding: .utf8)
        #expect(unit.contains("ExecStart=/opt/x/bin/logsync ") && !unit.contains("/usr/local"))
        #expect(try await shell("bash -n '\(root)/opt/x/share/bash-completion/completions/logsync'").code == 0)
        #expect(try await shell("\(install) --remove /opt/x '\(root)'").code == 0)
        #expect(files(root).isEmpty)
    }
}
