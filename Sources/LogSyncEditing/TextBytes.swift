import GRDB

/// Values as SQLite tells them apart. To GRDB, as to Swift, "é" equals "e" with an accent after it, and an edit that makes
/// the one of the other would be none.
extension DatabaseValue? {
    func isSame(as other: DatabaseValue?) -> Bool {
        if case .string(let a)? = self?.storage, case .string(let b)? = other?.storage {
            return a.utf8.elementsEqual(b.utf8)
        }
        return self == other
    }
}
