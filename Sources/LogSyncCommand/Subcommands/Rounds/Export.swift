import ArgumentParser
import LogSync

/// Records and publishes, once.
struct Export: StepCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Record and publish local changes, once; import nothing.",
        discussion: """
            EXAMPLE
              logsync export music.db
            """)

    @Argument(help: "The stores.", completion: .file())
    var stores: [String]

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await run("Publishing") { try await $0.export() }
    }
}
