import CLogSyncZstd

/// What a zstd frame of that length says.
func decompress(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        initialized = bytes.withUnsafeBytes { ZSTD_decompress(buffer.baseAddress, count, $0.baseAddress, bytes.count) }
    }
}
