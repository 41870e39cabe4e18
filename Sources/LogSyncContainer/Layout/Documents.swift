import FoundationEssentials
import LogSyncModel

/// The container's JSON documents: one line, keys sorted, `"format"` in each.
enum Documents {
    private struct Format: Decodable { var format: Int }

    /// Whether there can ever be a format of this number.
    static func isFormat(_ number: Int) -> Bool { number >= 1 && number <= Limits.documentNumber }

    static func encode(_ document: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(document)) + [UInt8(ascii: "\n")]
        } catch {
            preconditionFailure("a document of strings and integers always encodes: \(error)")
        }
    }

    /// - Throws: ``LogSyncError/Code/newerFormat``, ``LogSyncError/Code/malformedLog``.
    static func decode<Document: Decodable>(
        _ bytes: [UInt8], currentFormat: Int, called name: String
    ) throws(LogSyncError) -> Document {
        let data = Data(bytes)
        guard let format = try? JSONDecoder().decode(Format.self, from: data).format, isFormat(format) else {
            throw LogSyncError(.malformedLog, "\(name) is incomplete or damaged; it was not read")
        }
        guard format <= currentFormat else {
            throw LogSyncError(
                .newerFormat, "\(name) has format \(format), this logsync knows \(currentFormat); it was not read",
                help: "Install a newer logsync on this machine")
        }
        do {
            return try JSONDecoder().decode(Document.self, from: data)
        } catch {
            throw LogSyncError(.malformedLog, "\(name) is not what its format says; it was not read")
        }
    }
}
