import LogSyncModel

/// Reads a payload from front to back; every read is checked against the bytes that remain.
///
/// It points into memory that its maker keeps alive (`withUnsafeBytes`), and never reads outside of it.
struct ByteReader {
    private let base: UnsafeRawBufferPointer
    private(set) var position = 0
    /// Where the payload's first block stands in the file, for messages.
    let offset: Int
    /// The blobs that were named in what was read so far.
    var blobs: Set<BlobID> = []
    /// The bytes of the values that are in them, each as often as it is a row's.
    var blobBytes = 0
    /// The bytes that values have beyond those in the payload, because they stand there once for many rows.
    var repeatedBytes = 0

    init(_ bytes: UnsafeRawBufferPointer, offset: Int) {
        base = bytes
        self.offset = offset
    }

    var remaining: Int { base.count - position }
    var isAtEnd: Bool { position == base.count }

    func damaged(_ what: String) -> LogFileError {
        .damaged("\(what), at byte \(position) of the payload", offset: offset)
    }

    func newer(_ what: String) -> LogFileError {
        .newerFormat("\(what), at byte \(position) of the payload", offset: offset)
    }

    @inline(__always)
    mutating func byte() throws -> UInt8 {
        guard position < base.count else { throw damaged("the payload ends early") }
        defer { position += 1 }
        return base[position]
    }

    @inline(__always)
    mutating func word() throws -> UInt64 {
        guard remaining >= 8 else { throw damaged("the payload ends early") }
        defer { position += 8 }
        return UInt64(littleEndian: base.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    /// A varint in its shortest form.
    @inline(__always)
    mutating func varint() throws -> UInt64 {
        if position < base.count, base[position] < 0x80 {
            defer { position += 1 }
            return UInt64(base[position])
        }
        return try longVarint()
    }

    private mutating func longVarint() throws -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while position < base.count {
            let byte = base[position]
            position += 1
            if shift == 63, byte > 1 { throw damaged("a number is larger than 64 bits") }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 {
                if byte == 0, shift > 0 { throw damaged("a number is longer than it needs to be") }
                return value
            }
            if shift == 63 { throw damaged("a number is larger than 64 bits") }
            shift += 7
        }
        throw damaged("the payload ends within a number")
    }

    @inline(__always)
    mutating func zigzag() throws -> Int64 { Int64(zigzag: try varint()) }

    /// A count of things that take at least `size` bytes each, so that it is bounded by what remains.
    mutating func count(of what: String, size: Int = 1) throws -> Int {
        let value = try varint()
        guard value <= UInt64(remaining / size) else { throw damaged("there cannot be \(value) \(what)") }
        return Int(value)
    }

    /// The range of the next `count` bytes, which are passed over.
    @inline(__always)
    mutating func take(_ count: Int) throws -> Range<Int> {
        guard count >= 0, count <= remaining else { throw damaged("the payload ends early") }
        defer { position += count }
        return position..<position + count
    }

    /// The bytes at a range that ``take(_:)`` gave.
    func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: base[range])
    }

    /// Gives the whole payload, for ranges that ``take(_:)`` gave.
    func withPayload<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(base)
    }

    /// `count` lengths of what follows, whose sum is within what follows.
    mutating func lengths(_ count: Int) throws -> [Int] {
        guard count <= remaining else { throw damaged("there cannot be \(count) lengths") }
        var lengths: [Int] = []
        lengths.reserveCapacity(count)
        var total: UInt64 = 0
        for _ in 0..<count {
            let length = try varint()
            total = length > UInt64(base.count) ? .max : total + length
            guard total <= UInt64(base.count) else { throw damaged("lengths that exceed the payload") }
            lengths.append(Int(length))
        }
        guard total <= UInt64(remaining) else { throw damaged("lengths that exceed the payload") }
        return lengths
    }

    /// The sequence of a transaction.
    mutating func sequence(from first: UInt64 = 1) throws -> UInt64 { try sequence(varint(), from: first) }

    /// A sequence as it was read, where there is such a one.
    func sequence(_ sequence: UInt64, from first: UInt64 = 1) throws -> UInt64 {
        guard sequence >= first, sequence <= Limits.sequence else {
            throw damaged("there is no transaction \(sequence)")
        }
        return sequence
    }

    /// The integers of rows, each as its difference from the one before; nil for integers that an importer does not take over.
    mutating func rowNumbers(_ count: Int) throws -> [Int64?] {
        guard count <= remaining else { throw damaged("the payload ends early") }
        let range = Limits.rowNumbers
        var numbers: [Int64?] = []
        numbers.reserveCapacity(count)
        var previous: Int64 = 0
        for _ in 0..<count {
            previous &+= try zigzag()
            numbers.append(range.contains(previous) ? previous : nil)
        }
        return numbers
    }

    mutating func peer() throws -> PeerID {
        guard let peer = PeerID(bytes: bytes(try take(16))) else { throw damaged("no peer id") }
        return peer
    }

    /// A count, then that many bytes of UTF-8.
    mutating func text(_ what: String) throws -> String {
        let count = try count(of: "bytes of \(what)")
        let range = try take(count)
        guard let text = String(validating: bytes(range), as: UTF8.self) else {
            throw damaged("\(what) is not UTF-8")
        }
        return text
    }

    /// A text of which no more than so many bytes are of use; the rest is passed over.
    mutating func text(_ what: String, upTo limit: Int) throws -> String {
        let text = try text(what)
        guard text.utf8.count > limit else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: limit)
        // Not within a character.
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        return String(text[..<end])
    }

    /// The name of a table or a column: UTF-8, not empty, without NUL.
    mutating func name(_ what: String) throws -> String {
        let name = try text("the name of a \(what)")
        guard !name.isEmpty, !name.utf8.contains(0) else { throw damaged("no \(what) has this name") }
        return name
    }
}
