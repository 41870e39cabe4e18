import FoundationEssentials

/// `logsync.json`: says that a folder is a content folder, and of which content. Always the same bytes, so that two
/// machines that write it at once make no conflict copy.
struct Marker: Codable {
    static let currentFormat = 1
    static let maximumLength = 64 << 10

    var content: String
    var format: Int

    init(content: ContentName) {
        self.content = content.description
        format = Self.currentFormat
    }

    /// One line. A content name needs no escaping.
    var bytes: [UInt8] { Array("{\"content\":\"\(content)\",\"format\":\(format)}\n".utf8) }

    enum State: Hashable {
        case valid
        case missing
        /// Not a whole marker: damaged, or still being delivered.
        case unreadable
        case otherContent(String)
        case newer(Int)

        /// - Parameter bytes: nil where the file is longer than any marker.
        init(reading bytes: [UInt8]?, content: ContentName) {
            struct Format: Decodable { var format: Int }
            guard let data = bytes.map({ Data($0) }),
                let format = try? JSONDecoder().decode(Format.self, from: data).format, Documents.isFormat(format)
            else {
                self = .unreadable
                return
            }
            guard format <= Marker.currentFormat else {
                self = .newer(format)
                return
            }
            guard let marker = try? JSONDecoder().decode(Marker.self, from: data) else {
                self = .unreadable
                return
            }
            self = marker.content == content.description ? .valid : .otherContent(marker.content)
        }
    }
}
