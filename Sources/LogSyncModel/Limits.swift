/// The bounds of what may stand in the shared folder, where anybody may put anything.
///
/// Writers keep to them and readers check them, so that no number, length or depth that was read can overflow a sum, fill
/// the memory or reach the ends of SQLite's integers. Documentation/log-format.md (bounds), snapshot-format.md and
/// container-format.md say what a reader does with what exceeds them.
package enum Limits {
    // MARK: Numbers

    /// The greatest sequence of a transaction: what the twelve digits in the name of a log file can say. Sums of these
    /// over a million peers are still within Int64.
    package static let sequence: UInt64 = 999_999_999_999

    /// The greatest number in a JSON document that is no sequence: every language counts exactly up to here.
    /// Source: RFC 8259, section 6.
    package static let documentNumber: UInt64 = 1 << 53

    /// How far a receipt's counter can be above the highest that was read before: a receipt each millisecond for 49 days.
    /// Who writes one further above would make every later receipt of the peer an old one.
    package static let counterRise: UInt64 = 1 << 32

    /// The integers of rows that an importer takes over, and the numbers that AUTOINCREMENT is told to go on from. SQLite
    /// has no number after 2⁶³ − 1, so that a peer that brings one close to it ends all inserting
    /// (<https://www.sqlite.org/autoinc.html>). Rows may have other integers: then each peer finds its own.
    package static let rowNumbers: ClosedRange<Int64> = -(1 << 53)...(1 << 53)

    // MARK: Texts

    /// How many bytes of a transaction's author are written, and read.
    package static let author = 1 << 10
    /// The same of its context.
    package static let context = 64 << 10

    // MARK: Schemas

    /// How many bytes a published schema has, and any value while it is made.
    package static let schemaLength = 16 << 20
    /// How many bytes the expressions of one of its tables or indexes may come to for each row, whatever the row is.
    package static let schemaConstants = 16 << 10
    /// How many steps SQLite may make of one statement of it, or of a read of one of its tables: a generated column is
    /// compiled anew wherever it is named, twice over in each that doubles another.
    package static let schemaSteps = 250_000
    /// How many columns a table may have beside SQLite's own names for a row, of the 2,000 that SQLite selects.
    package static let columns = 1998
    /// How many seconds of a processor it may take to make it.
    package static let schemaTime = 2.0
    /// How many seconds of a processor all those may take of which an import, or a verification, wants the names of keys.
    /// There is no bound to how many the folder has.
    package static let schemasTime = 5.0
    /// How deep an expression in it may be, and how many SELECTs one view may join by UNION.
    package static let schemaExpressionDepth = 200
    package static let schemaCompound = 50
    /// How deep triggers may call each other while it is made.
    package static let schemaTriggerDepth = 50
    /// How many times over a view or trigger may name others, through all levels: real schemas reach some dozens.
    package static let schemaWeight = 1000
    /// The longest view or trigger that is read, in tokens.
    package static let schemaTokens = 100_000
    /// How many columns are followed from one that refers to another. No program has so many in a row; a schema from the
    /// folder may, and a thread has room for some thousands.
    package static let referenceChain = 200

    // MARK: Depths

    /// How many identities may stand in one another, by references within natural keys; real schemas reach two or three.
    package static let identityDepth = 16

    // MARK: Lengths

    /// The longest raw payload of one block, and what a frame aims at.
    package static let blockLength = 1 << 20
    /// The longest payload of a log's frame that has more than one row. A writer's estimates end one within a block, or
    /// hardly beyond.
    package static let sharedFrameLength = 2 << 20
    /// The longest payload of any frame: one row with everything in it. SQLite's rows end at 10⁹ bytes
    /// (<https://www.sqlite.org/limits.html#max_length>).
    package static let frameLength = 1 << 30
    /// The longest payload of a header, a manifest or an end.
    package static let recordLength = 1 << 26
    /// Rows × (columns + 1), summed over a frame's groups. Encodings that take no bytes a row could otherwise make a small
    /// frame fill the memory of the peer that decodes it.
    package static let cellsPerFrame = 1 << 20

    // MARK: Expansion

    /// How many bytes a file may come to that has so many: unpacked, and again with its repeated values written out.
    ///
    /// zstd makes a mebibyte of zeros out of some fifty bytes, and a value that stands once may be that of a million rows;
    /// what people write shrinks a hundredfold at most.
    package static func expansion(ofFile bytes: Int) -> Int {
        min(expansion(ofBytes: bytes), .max - expansionAllowance) + expansionAllowance
    }

    /// How much more a file may come to for so many of its bytes, or of those in the blobs that it names.
    package static func expansion(ofBytes bytes: Int) -> Int {
        let (product, overflows) = max(bytes, 0).multipliedReportingOverflow(by: 1000)
        return overflows ? .max : product
    }

    private static let expansionAllowance = 64 << 20
}
