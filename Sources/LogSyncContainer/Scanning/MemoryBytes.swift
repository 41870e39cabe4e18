/// Puts values one after the other: numbers as 8 bytes, little-endian, texts and lists after their lengths.
struct MemoryWriter {
    private(set) var bytes: [UInt8] = []

    mutating func put(_ number: UInt64) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func put(_ number: Int64) { put(UInt64(bitPattern: number)) }
    mutating func put(_ count: Int) { put(UInt64(count)) }
    mutating func put(_ flag: Bool) { bytes.append(flag ? 1 : 0) }

    mutating func put(_ text: String) { put(Array(text.utf8)) }

    mutating func put(_ raw: [UInt8]) {
        put(raw.count)
        bytes += raw
    }

    mutating func put<Name>(_ files: [FoundFile<Name>]) {
        put(files.count)
        for file in files {
            put(file.name.description)
            put(file.size)
            put(file.modified)
            put(file.inode)
        }
    }
}

/// Takes what ``MemoryWriter`` put. Where the bytes are others, what is taken is of no use and ``isBroken`` says so.
struct MemoryReader {
    var rest: Slice<UnsafeRawBufferPointer>
    private(set) var isBroken = false

    init(rest: Slice<UnsafeRawBufferPointer>) {
        self.rest = rest
    }

    private mutating func take(_ count: Int) -> Slice<UnsafeRawBufferPointer> {
        guard count >= 0, count <= rest.count else {
            isBroken = true
            rest = rest.suffix(0)
            return rest
        }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func number() -> UInt64 {
        let taken = take(8)
        return taken.isEmpty
            ? 0 : UInt64(littleEndian: UnsafeRawBufferPointer(rebasing: taken).loadUnaligned(as: UInt64.self))
    }

    mutating func signed() -> Int64 { Int64(bitPattern: number()) }
    mutating func flag() -> Bool { take(1).first == 1 }

    /// How many follow; none where there is no room for so many.
    mutating func count() -> Int {
        let count = number()
        guard count <= rest.count else {
            isBroken = true
            return 0
        }
        return Int(count)
    }

    mutating func bytes() -> [UInt8] { Array(take(count())) }
    mutating func text() -> String { String(decoding: take(count()), as: UTF8.self) }

    mutating func files<Name: PublishedName>() -> [FoundFile<Name>] {
        let count = count()
        var files: [FoundFile<Name>] = []
        files.reserveCapacity(count)
        for _ in 0..<count {
            let name = Name(text())
            let file = (size: number(), modified: signed(), inode: number())
            guard let name else {
                isBroken = true
                return []
            }
            files.append(FoundFile(name: name, size: file.size, modified: file.modified, inode: file.inode))
        }
        return files
    }
}
