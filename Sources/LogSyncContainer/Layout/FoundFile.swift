/// One published file in a listing. That it is there does not mean that it is complete.
package struct FoundFile<Name: PublishedName>: Hashable, Sendable {
    package var name: Name
    /// Bytes.
    package var size: UInt64
    /// Unix time in nanoseconds.
    package var modified: Int64
    package var inode: UInt64

    package init(name: Name, size: UInt64, modified: Int64, inode: UInt64) {
        self.name = name
        self.size = size
        self.modified = modified
        self.inode = inode
    }
}
