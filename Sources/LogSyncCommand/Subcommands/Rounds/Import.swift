import ArgumentParser
import LogSync

/// Imports, once.
struct Import: StepCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import all that has arrived, once; publish nothing.",
        discussion: """
            Local changes are recorded first, so that merging is right, and wait in the outbox.

            EXAMPLE
              logsync import music.db --json
            """)

    @Argument(help: "The stores.", completion: .file())
    var stores: [String]

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await run("Importing") { try await $0.import() }
    }
}
