import ArgumentParser
import LogSync

/// Records and publishes, once.
struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Record and publish local changes, once; import nothing.",
        discussion: """
            EXAMPLE
              logsync export music.db
            """)

    @OptionGroup var options: StepOptions

    func run() async throws {
        try await options.run("Publishing") { try await $0.export() }
    }
}
