import CLogSyncZstd
import Synchronization

/// One zstd compression context, used again and again: to make one costs more than to compress what a small transaction has.
///
/// Unchecked because it is in one place at a time: the spare one, or a compressor.
private struct CompressionContext: @unchecked Sendable {
    let pointer: OpaquePointer

    /// One that nobody needs at the moment, for the next that does.
    private static let spare = Mutex<CompressionContext?>(nil)

    static func take() -> CompressionContext? {
        spare.withLock { spare in
            defer { spare = nil }
            return spare
        } ?? ZSTD_createCCtx().map { CompressionContext(pointer: $0) }
    }

    func giveBack() {
        let isKept = Self.spare.withLock { spare in
            guard spare == nil else { return false }
            spare = self
            return true
        }
        if !isKept { ZSTD_freeCCtx(pointer) }
    }
}

/// Compresses blocks.
final class Compressor {
    /// nil until it is needed.
    private var context: CompressionContext?
    private var scratch: [UInt8] = []

    static let level: Int32 = 3
    /// Shorter payloads are not worth a try: a row's name and values hardly repeat, and what is saved is less than a tenth.
    private static let minimumLength = 192

    deinit { context?.giveBack() }

    /// Calls `body` with the compressed bytes; with nil where they would not be fewer.
    func compress<R>(_ raw: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer?) throws -> R) rethrows -> R {
        guard raw.count >= Self.minimumLength else { return try body(nil) }
        context = context ?? CompressionContext.take()
        guard let context = context?.pointer else { return try body(nil) }
        let capacity = raw.count - 1
        if scratch.count < capacity { scratch = [UInt8](repeating: 0, count: capacity) }
        return try scratch.withUnsafeMutableBytes { scratch in
            // Fails with "destination too small" where compression gains nothing.
            let count = ZSTD_compressCCtx(
                context, scratch.baseAddress, capacity, raw.baseAddress, raw.count, Self.level)
            guard ZSTD_isError(count) == 0 else { return try body(nil) }
            return try body(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
        }
    }
}

/// One zstd decompression context, used again and again.
final class Decompressor {
    private let context: OpaquePointer?

    init() { context = ZSTD_createDCtx() }
    deinit { ZSTD_freeDCtx(context) }

    /// Decompresses into exactly `target`. Returns false where the bytes are not one zstd frame of that length.
    func decompress(_ stored: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Bool {
        guard let context, ZSTD_getFrameContentSize(stored.baseAddress, stored.count) == UInt64(target.count),
            ZSTD_findFrameCompressedSize(stored.baseAddress, stored.count) == stored.count
        else { return false }
        let count = ZSTD_decompressDCtx(context, target.baseAddress, target.count, stored.baseAddress, stored.count)
        return ZSTD_isError(count) == 0 && count == target.count
    }
}
