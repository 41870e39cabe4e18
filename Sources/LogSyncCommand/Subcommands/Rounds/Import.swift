import ArgumentParser
import LogSync

/// Imports, once.
struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Import all that has arrived, once; publish nothing.",
        discussion: """
            Local changes are recorded first, so that merging is right, and wait in the outbox.

            EXAMPLE
              logsync import music.db --json
            """)

    @OptionGroup var options: StepOptions

    func run() async throws {
        try await options.run("Importing") { try await $0.import() }
    }
}
