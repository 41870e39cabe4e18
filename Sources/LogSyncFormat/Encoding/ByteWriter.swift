import LogSyncModel

/// A growing buffer that keeps its memory when emptied, for the encoder's hot loops.
final class ByteWriter {
    private(set) var count = 0
    private var capacity: Int
    private var base: UnsafeMutablePointer<UInt8>
    /// The blobs that were named in anything written so far; ``removeAll()`` leaves them.
    var blobs: Set<BlobID> = []

    init(capacity: Int = 4096) {
        self.capacity = capacity
        base = .allocate(capacity: capacity)
    }

    deinit { base.deallocate() }

    func removeAll() {
        // A row of a gigabyte is rare; do not keep its buffer.
        if capacity > 8 * Limits.blockLength {
            base.deallocate()
            capacity = 4096
            base = .allocate(capacity: capacity)
        }
        count = 0
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Makes room for `extra` more bytes.
    @inline(__always)
    func reserve(_ extra: Int) {
        if capacity - count < extra { grow(extra) }
    }

    @inline(never)
    private func grow(_ extra: Int) {
        capacity = max(capacity * 2, count + extra)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.update(from: base, count: count)
        base.deallocate()
        base = larger
    }

    @inline(__always)
    func append(_ byte: UInt8) {
        reserve(1)
        base[count] = byte
        count += 1
    }

    @inline(__always)
    func append(_ source: UnsafeRawBufferPointer) {
        guard let start = source.baseAddress, source.count > 0 else { return }
        reserve(source.count)
        UnsafeMutableRawPointer(base + count).copyMemory(from: start, byteCount: source.count)
        count += source.count
    }

    @inline(__always)
    func append(_ bytes: Bytes) {
        bytes.withUnsafeBytes { append($0) }
    }

    func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    /// A count, then the text's UTF-8.
    func append(_ text: String) {
        var text = text
        text.withUTF8 {
            append(varint: UInt64($0.count))
            append(UnsafeRawBufferPointer($0))
        }
    }

    @inline(__always)
    func append(word: UInt64) {
        reserve(8)
        UnsafeMutableRawPointer(base + count).storeBytes(of: word.littleEndian, as: UInt64.self)
        count += 8
    }

    @inline(__always)
    func append(varint value: UInt64) {
        reserve(10)
        var rest = value
        while rest >= 0x80 {
            base[count] = UInt8(truncatingIfNeeded: rest) | 0x80
            count += 1
            rest >>= 7
        }
        base[count] = UInt8(truncatingIfNeeded: rest)
        count += 1
    }

    /// The integers of rows, each as its difference from the one before.
    func append(rowNumbers numbers: some Collection<Int64?>) {
        var previous: Int64 = 0
        for number in numbers {
            let number = number ?? Self.noRowNumber
            append(zigzag: number &- previous)
            previous = number
        }
    }

    /// Stands for none, because no reader takes it over.
    static let noRowNumber = Int64.min

    @inline(__always)
    func append(zigzag value: Int64) {
        append(varint: value.zigzag)
    }
}

extension Int64 {
    /// 0, −1, 1, −2 … as 0, 1, 2, 3 …
    @inline(__always)
    var zigzag: UInt64 { UInt64(bitPattern: self << 1 ^ self >> 63) }

    @inline(__always)
    init(zigzag: UInt64) { self = Int64(bitPattern: zigzag >> 1) ^ -Int64(bitPattern: zigzag & 1) }
}

extension UInt64 {
    /// How many bytes this takes as a varint.
    @inline(__always)
    var varintLength: Int { (70 - (self | 1).leadingZeroBitCount) / 7 }
}
