import Foundation

/// What libFuzzer calls with each input. Whatever traps, asserts or reads where it must not ends the run, and the input is
/// written down.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

/// One binary for all of them; the environment says which.
private let target: @Sendable ([UInt8]) -> Void = {
    let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? ""
    switch name {
    case "log": return LogFileTarget.run
    case "snapshot": return SnapshotTarget.run
    case "name": return NameTarget.run
    case "document": return DocumentTarget.run
    case "payload": return PayloadTarget.run
    case "merge": return StoreTarget.merge
    case "join": return StoreTarget.join
    default:
        fatalError(
            "FUZZ_TARGET has to be log, snapshot, payload, name, document, merge or join, and is \(name.debugDescription)"
        )
    }
}()

/// What has to hold of every input.
func require(_ condition: Bool, _ what: @autoclosure () -> String) {
    if !condition { fatalError(what()) }
}
