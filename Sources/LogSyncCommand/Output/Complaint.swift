import LogSync

/// An error as the tool says it on stderr: one line for people, one JSON document for programs.
enum Complaint {
    private struct Document: Encodable {
        let format = 1
        var error: JSONError

        private enum CodingKeys: String, CodingKey {
            case format, error
        }
    }

    static func line(_ error: LogSyncError, isJSON: Bool) -> String {
        if isJSON, let line = try? JSONText.line(Document(error: JSONError(error))) { return line }
        var sentences = error.message
        if let help = error.help {
            sentences += (".?".contains(sentences.suffix(1)) ? " " : ". ") + help
        }
        return "logsync: " + Terminal.printable(sentences.split(separator: "\n").joined(separator: " "))
    }

    static func print(_ error: LogSyncError, isJSON: Bool) {
        Terminal.writeError(line(error, isJSON: isJSON) + "\n")
    }
}
