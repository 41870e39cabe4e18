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

    @Test func `shells complete a path wherever one belongs`() async throws {
        var (files, folders) = (0, 0)
        func check(_ command: JSON, _ path: String) {
            for argument in command["arguments"]?.array ?? [] {
                let (name, kinds) = (argument["valueName"]?.string ?? "", argument["completionKind"]?.keys)
                switch name {
                case "dir":
                    folders += 1
                    #expect(kinds == ["directory"], "\(path) \(name)")
                case "store", "stores", "path", "store|file", "file", "file[:entry]", "name|file|none":
                    files += 1
                    #expect(kinds == ["file"], "\(path) \(name)")
                default: break
                }
            }
            for each in command["subcommands"]?.array ?? [] {
                check(each, "\(path) \(each["commandName"]?.string ?? "")")
            }
        }
        try check(#require(JSON(await tool.run("--experimental-dump-help").output)["command"]), "logsync")
        #expect(files > 100 && folders >= 6)

        let script = """
            mkdir -p '\(tool.path("typed"))/shared' && cd '\(tool.path("typed"))' && : > notes.db
            eval "$('\(Tool.path)' --generate-completion-script bash)"
            for words in 'sync no' 'kv get no' 'clone --container sh' 'clone --container no'; do
                COMP_WORDS=(logsync $words); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE="logsync $words"
                COMP_POINT=${#COMP_LINE}; COMPREPLY=()
                _logsync logsync "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" || true
                echo "$words: ${COMPREPLY[*]-}"
            done
            """
        let typed = try await tool.start(program: "/bin/bash", ["-c", script]).end()
        #expect(
            typed.output == """
                sync no: notes.db
                kv get no: notes.db
                clone --container sh: shared
                clone --container no:\u{20}

                """, "\(typed.errors)")
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
