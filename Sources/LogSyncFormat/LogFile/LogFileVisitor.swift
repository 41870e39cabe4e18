package import LogSyncModel

/// Is told what a log file holds, in order; for `logsync show`.
package protocol LogFileVisitor {
    mutating func visit(_ header: LogFileHeader) throws
    mutating func visit(_ transaction: TransactionHeader) throws
    /// Called for each frame in turn.
    mutating func visit(_ groups: [RowGroup]) throws
    mutating func visit(_ end: TransactionEnd) throws
    mutating func visit(chainAfter: ChainHash, fileHash: FileHash) throws
}

extension LogFileReader {
    /// Reads the whole file and tells `visitor` what it holds, a frame at a time.
    ///
    /// - Throws: ``LogFileError`` at the first thing that is wrong, and what the source or the visitor throws.
    package static func visit(_ source: any ByteSource, _ visitor: inout some LogFileVisitor) throws {
        let reader = try LogFileReader(source)
        try visitor.visit(reader.header)
        while let transaction = try reader.nextTransaction() {
            try visitor.visit(transaction.header)
            while let groups = try transaction.nextFrame() { try visitor.visit(groups) }
            try visitor.visit(try transaction.finish())
        }
        try visitor.visit(chainAfter: try reader.chainAfter(), fileHash: try reader.verify())
    }
}
