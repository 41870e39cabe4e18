import ArgumentParser
import LogSync

/// Records, publishes and imports, once.
struct Sync: StepCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Record and publish local changes, then import all that has arrived, once.",
        discussion: """
            Ends with 0 where everything in the container is in the store, 3 where something is held, 4 where something is
            damaged. Of several stores each is done, and the gravest code is returned.

            EXAMPLE
              logsync sync music.db notes.db
            """)

    @Argument(help: "The stores.", completion: .file())
    var stores: [String]

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await run("Syncing") { try await $0.sync() }
    }
}
