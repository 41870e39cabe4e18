import ArgumentParser

@main
struct LogSyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "logsync", abstract: "Replicate SQLite databases through a shared folder.")
}
