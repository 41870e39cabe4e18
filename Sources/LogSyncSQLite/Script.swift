import GRDBSQLite
import LogSyncModel

/// A script of SQL, run statement by statement within a transaction that is open already.
package struct Script {
    package let sql: String

    package init(sql: String) {
        self.sql = sql
    }

    /// Statements that would leave the transaction, or that SQLite does not allow within one.
    private static let refused: Set<String> = ["ROLLBACK", "SAVEPOINT", "RELEASE", "ATTACH", "DETACH", "VACUUM"]
    /// The whole script is one transaction; its own limits mean nothing beyond that.
    private static let passedOver: Set<String> = ["BEGIN", "COMMIT", "END"]

    /// Runs the statements in order; rows that they return are let go.
    ///
    /// - Returns: how many there were.
    /// - Throws: `invalidScript` with the line of the statement that failed.
    package func run(on connection: Connection) throws -> Int {
        try sql.withCString { start in
            var count = 0
            var rest = start
            while rest.pointee != 0 {
                var statement: OpaquePointer?
                var tail: UnsafePointer<CChar>? = rest
                let code = sqlite3_prepare_v2(connection.handle, rest, -1, &statement, &tail)
                defer { sqlite3_finalize(statement) }
                let from = rest
                guard code == SQLITE_OK else { throw failure(connection, code, start, from) }
                rest = tail ?? rest
                // Nothing but blanks and comments.
                guard let statement else { continue }
                let word = Self.firstWord(from)
                if Self.passedOver.contains(word) { continue }
                guard !Self.refused.contains(word) else {
                    throw LogSyncError(
                        .invalidScript,
                        "line \(Self.line(start, from)) of the script: \(word) cannot be run within the one transaction "
                            + "that a migration is; nothing was changed",
                        help: "Take it out of the script, and run it with another program before or after")
                }
                var step = sqlite3_step(statement)
                while step == SQLITE_ROW { step = sqlite3_step(statement) }
                guard step == SQLITE_DONE else { throw failure(connection, step, start, from) }
                count += 1
            }
            return count
        }
    }

    private func failure(
        _ connection: Connection, _ code: Int32, _ start: UnsafePointer<CChar>, _ from: UnsafePointer<CChar>
    ) -> LogSyncError {
        let error = connection.failure(code, "")
        // A full disk or a lock is no fault of the script.
        guard ![SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM].contains(code & 0xFF) else {
            return error
        }
        return LogSyncError(
            .invalidScript,
            "line \(Self.line(start, from)) of the script: \(String(cString: sqlite3_errmsg(connection.handle))); "
                + "nothing was changed", help: "Correct the script and run the command again")
    }

    // MARK: Text

    /// Past blanks and comments.
    private static func firstByte(_ text: UnsafePointer<CChar>) -> UnsafePointer<CChar> {
        var text = text
        while true {
            let byte = UInt8(bitPattern: text[0])
            if byte == UInt8(ascii: "-"), UInt8(bitPattern: text[1]) == UInt8(ascii: "-") {
                while text[0] != 0, text[0] != 10 { text += 1 }
            } else if byte == UInt8(ascii: "/"), UInt8(bitPattern: text[1]) == UInt8(ascii: "*") {
                text += 2
                while text[0] != 0,
                    !(UInt8(bitPattern: text[0]) == UInt8(ascii: "*")
                        && UInt8(bitPattern: text[1]) == UInt8(ascii: "/"))
                {
                    text += 1
                }
                if text[0] != 0 { text += 2 }
            } else if [9, 10, 12, 13, 32, UInt8(ascii: ";")].contains(byte) {
                text += 1
            } else {
                return text
            }
        }
    }

    private static func firstWord(_ text: UnsafePointer<CChar>) -> String {
        var word: [UInt8] = []
        var text = firstByte(text)
        while case let byte = UInt8(bitPattern: text[0]), byte | 0x20 >= 0x61, byte | 0x20 <= 0x7A {
            word.append(byte)
            text += 1
        }
        return String(decoding: word, as: UTF8.self).uppercased()
    }

    private static func line(_ start: UnsafePointer<CChar>, _ text: UnsafePointer<CChar>) -> Int {
        let text = firstByte(text)
        var line = 1
        var position = start
        while position < text {
            if position.pointee == 10 { line += 1 }
            position += 1
        }
        return line
    }
}
