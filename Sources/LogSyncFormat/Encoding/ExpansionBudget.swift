import LogSyncModel

/// What is left of the bytes that a file may come to (``Limits/expansion(ofFile:)``): the bytes that its blocks unpack to, and
/// the bytes of values which stand once and are said to be those of many rows.
final class ExpansionBudget {
    private let whole: Int
    private var unpacked: Int
    private var repeated: Int

    init(_ whole: Int) {
        self.whole = whole
        unpacked = whole
        repeated = whole
    }

    /// Takes the bytes that a block says it has, before it is unpacked.
    func unpack(_ count: Int, offset: Int) throws {
        guard count <= unpacked else { throw exceeded("blocks", offset) }
        unpacked -= count
    }

    /// Takes the bytes that a frame's values have beyond those in its payload.
    func `repeat`(_ count: Int, offset: Int) throws {
        guard count <= repeated else { throw exceeded("repeated values", offset) }
        repeated -= count
    }

    private func exceeded(_ what: String, _ offset: Int) -> LogFileError {
        .tooLarge("\(what) of more than \(whole) bytes, which is much for a file of this length", offset: offset)
    }
}
