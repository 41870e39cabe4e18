/// Bounds that the encoder keeps and the decoder checks (Documentation/log-format.md, bounds).
enum Limits {
    /// The longest raw payload of one block, and what a frame aims at.
    static let blockLength = 1 << 20
    /// The longest logical frame: one row with everything in it. SQLite's rows end at 2³¹ bytes.
    static let frameLength = 1 << 31
    /// The longest logical header or end payload.
    static let recordLength = 1 << 26
    /// Rows × (columns + 1), summed over a frame's groups. Encodings that take no bytes per row could
    /// otherwise make a small frame fill the memory of whoever decodes it.
    static let cellsPerFrame = 1 << 20
    /// How deep references within row identities may go, as in ``RowIdentity``.
    static let identityDepth = 16
}
