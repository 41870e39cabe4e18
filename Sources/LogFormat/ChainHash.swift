/// Stands in until the module's own.
package struct ChainHash: Hashable, Sendable {
    package var bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }
}
