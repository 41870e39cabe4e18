import LogSyncModel

/// What is left of the bytes that a file may come to (``Limits/expansion(ofFile:)``): the bytes that its blocks unpack to, and
/// the bytes of values which stand once and are said to be those of many rows, in the file or in a blob that it names.
final class ExpansionBudget {
    private let whole: Int
    private var unpacked: Int
    private var repeated: Int
    /// How many bytes of repeated values the file has room for, by the blobs that it has named.
    private var room: Int
    /// The blobs that count as bytes of the file.
    private var blobs: Set<BlobID> = []

    init(_ whole: Int) {
        self.whole = whole
        unpacked = whole
        repeated = whole
        room = whole
    }

    /// Takes the bytes that a block says it has, before it is unpacked.
    func unpack(_ count: Int, offset: Int) throws {
        guard count <= unpacked else { throw exceeded("blocks", whole, offset) }
        unpacked -= count
    }

    /// Takes the bytes that a frame's values have beyond those in its payload.
    func `repeat`(_ count: Int, offset: Int) throws {
        guard count <= repeated else { throw exceeded("repeated values", room, offset) }
        repeated -= count
    }

    /// Takes the bytes of a frame's values that are in blobs, beyond those of each blob that the file names for the first
    /// time: such a blob counts as if its bytes stood in the file.
    ///
    /// - Parameters:
    ///   - named: the frame's blobs.
    ///   - count: the bytes of all its values in them.
    func name(_ named: Set<BlobID>, bytes count: Int, offset: Int) throws {
        guard !named.isEmpty else { return }
        var fresh = 0
        for blob in named where blobs.insert(blob).inserted { fresh += blob.length }
        let further = Limits.expansion(ofBytes: fresh)
        repeated += min(further, .max - repeated)
        room += min(further, .max - room)
        try `repeat`(count - fresh, offset: offset)
    }

    private func exceeded(_ what: String, _ bytes: Int, _ offset: Int) -> LogFileError {
        .tooLarge("\(what) of more than \(bytes) bytes, which is much for a file of this length", offset: offset)
    }
}
