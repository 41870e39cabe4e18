/// A block as it stands in a segment, its header included.
package struct EncodedBlock: Hashable, Sendable {
    package let bytes: [UInt8]
}
