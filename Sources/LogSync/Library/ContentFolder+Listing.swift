import LogSyncContainer
import LogSyncModel

/// Reading what a listing has, while peers merge their files and remove what they have merged.
extension ContentFolder {
    /// How often the folder is listed anew, at most.
    private static let listings = 5

    /// Reads what a scan has found, and reads it again by a new one as long as some of it has gone meanwhile: without such a
    /// file what was read is not all that there is, and what could not be read may only have moved into another.
    ///
    /// - Parameters:
    ///   - scan: lists all of the folder. It is the last one, by which was read, when this returns or throws.
    ///   - read: is called again with each scan.
    /// - Throws: what the last `read` throws; `containerUnavailable` and what else keeps the folder from being listed.
    func readAll<Result>(
        _ scan: inout ContainerScan, _ read: (ContainerScan) throws -> Result
    ) throws -> Result {
        let scanner = ContainerScanner(content: self)
        var left = Self.listings
        while true {
            let result = Swift.Result { try read(scan) }
            let now = try scanner.scan(full: true)
            guard left > 0, !scan.isContained(in: now) else { return try result.get() }
            left -= 1
            scan = now
        }
    }
}
