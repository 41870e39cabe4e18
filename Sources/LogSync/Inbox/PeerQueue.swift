import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// The log files of one peer, or of one branch of its history, and how far they were read.
///
/// Sequences are as files have them; a branch's own are lower by its offset.
final class PeerQueue {
    struct OpenFile {
        var reader: LogFileReader
        var file: LogFileName
        /// The sequence that comes next in it.
        var next: UInt64
    }

    /// The peer in whose folder the files are.
    let peer: PeerID
    /// The peer, or the branch, whose transactions are taken from them.
    let line: PeerID
    let offset: UInt64
    /// Whether the files hold other branches too.
    let hasBranches: Bool
    /// Which transaction goes on where the history forks, by sequence.
    private let required: [UInt64: ChainMark]
    private let names: LogFileSet
    private let files: [LogFileName: FoundFile<LogFileName>]
    /// The file that transactions are taken from.
    var file: FoundFile<LogFileName>?
    /// The transactions in it.
    private var transactions: [FoundTransaction] = []
    var reader: OpenFile?
    var acceptsClock = false
    /// The blobs of the next transaction that it is handed out without.
    var lostBlobs: Set<BlobID> = []
    /// Why the next transaction cannot be imported.
    var held: HeldTransaction?
    /// The next transaction, where the store refused it.
    var refused: HeldTransaction?
    /// The transaction that cannot be merged, whichever file it is in and whatever else comes.
    var rejected: HeldTransaction?
    /// What a step found out of the transaction that it failed in.
    var note: RefusalNote?
    /// A branch of this peer's history that contradicts the one imported.
    var contradiction: HeldTransaction?
    /// Files that a step failed in.
    var bad: [LogFileName: (reason: HeldItem.Reason, detail: String)] = [:]
    /// Whether a file that was listed had gone when it was to be read: another listing may show another one in its place.
    private(set) var isOutdated = false
    /// Files that were read a second time because they changed under the first reading.
    var readAgain: Set<LogFileName> = []

    /// - Parameters:
    ///   - branch: nil for the peer itself.
    ///   - children: the branches that go off from it.
    private init(
        _ scan: PeerScan, _ names: LogFileSet, _ files: [LogFileName: FoundFile<LogFileName>], _ branch: Branch?,
        hasBranches: Bool, children: [Branch]
    ) {
        var required = Dictionary(children.map { ($0.start, $0.kept) }, uniquingKeysWith: min)
        if let branch { required[branch.start] = branch.mark }
        self.required = required
        line = branch?.id ?? scan.id
        offset = branch?.offset ?? 0
        self.hasBranches = hasBranches
        peer = scan.id
        self.names = names
        self.files = files
    }

    /// The queues of a peer: its own, and one for each branch of its history. They have their files in common, and there may
    /// be as many of both as a liar likes.
    ///
    /// - Parameter branches: of this peer's history.
    static func all(of scan: PeerScan, _ branches: [Branch]) -> [PeerQueue] {
        let names = scan.logFiles
        let files = Dictionary(scan.logs.map { ($0.name, $0) }) { first, _ in first }
        let children = Dictionary(grouping: branches, by: \.parent)
        return ([nil] + branches).map { branch in
            PeerQueue(
                scan, names, files, branch, hasBranches: !branches.isEmpty,
                children: children[branch?.id ?? scan.id] ?? [])
        }
    }

    var reach: UInt64 { names.reach }

    func hold(
        _ sequence: UInt64, _ reason: HeldItem.Reason, _ detail: String, _ transaction: FoundTransaction? = nil,
        file: LogFileName? = nil
    ) {
        held = HeldTransaction(
            dot: Dot(peer, sequence), file: file ?? self.file?.name, reason: reason, detail: detail,
            transaction: transaction)
    }

    /// Holds the next transaction until something else has been imported.
    func refuse(_ transaction: FoundTransaction, _ detail: String) {
        refused = HeldTransaction(
            dot: Dot(peer, transaction.header.dot.sequence + offset), file: file?.name, reason: .dependency,
            detail: detail, transaction: nil)
    }

    /// Finds a transaction that follows on a chain, in whichever sound file holds it; holds it where there is none.
    func transaction(_ sequence: UInt64, after chain: ChainHash, _ logs: LogLibrary) throws -> FoundTransaction? {
        if let file, file.name.covers(sequence) {
            let transaction = transactions[Int(sequence - file.name.first)]
            if chain.means(transaction.chainBefore), isWanted(transaction) { return transaction }
        }
        let before = file
        file = nil
        var failures: [HeldTransaction] = []
        var fork: (file: LogFileName, chain: ChainHash)?
        var chosen: FoundTransaction?
        for name in names.candidates(for: sequence) {
            if chosen != nil, !isNews(name) { continue }
            guard let found = try sound(name, sequence, logs, &failures) else { continue }
            let transaction = found[Int(sequence - name.first)]
            if hasBranches, !chain.means(transaction.chainBefore) || !isWanted(transaction) {
                // Another branch's, or it is found to be a new one when all files are compared.
                continue
            } else if !chain.means(transaction.chainBefore) {
                fork = (name, transaction.chainBefore)
            } else if let chosen {
                if chosen.chain != transaction.chain { fork = (name, transaction.chain) }
            } else {
                chosen = transaction
                file = files[name]
                transactions = found
            }
        }
        if let before, before != file { logs.forget(before.name, of: peer) }
        if let fork {
            let detail = "one dot, different bytes: two stores wrote under the id of \(peer)"
            contradiction = HeldTransaction(
                dot: Dot(peer, sequence), file: fork.file, reason: .fork, detail: detail, transaction: nil)
        }
        if chosen == nil, fork == nil { held = failures.first ?? (hasBranches ? nil : gap(sequence)) }
        return chosen
    }

    private func isWanted(_ transaction: FoundTransaction) -> Bool {
        required[transaction.header.dot.sequence].map { $0 == transaction.chain.mark } ?? true
    }

    /// Every transaction in the files that can be read, however many of one dot.
    func allTransactions(_ logs: LogLibrary) throws -> [FoundTransaction] {
        var all: [FoundTransaction] = []
        for file in files.values {
            if case .sound(let transactions) = try logs.examine(file, of: peer) { all += transactions }
        }
        return all
    }

    private var seen: Set<LogFileName> = []

    /// A second file that holds the same is read only once, to see whether it says the same.
    private func isNews(_ name: LogFileName) -> Bool { seen.insert(name).inserted }

    private func gap(_ sequence: UInt64) -> HeldTransaction {
        HeldTransaction(
            dot: Dot(peer, sequence), file: nil, reason: .gap,
            detail: "no file holds it, and later ones are here", transaction: nil)
    }

    private func sound(
        _ name: LogFileName, _ sequence: UInt64, _ logs: LogLibrary, _ failures: inout [HeldTransaction]
    ) throws -> [FoundTransaction]? {
        func fail(_ reason: HeldItem.Reason, _ detail: String) {
            failures.append(
                HeldTransaction(dot: Dot(peer, sequence), file: name, reason: reason, detail: detail, transaction: nil))
        }
        if let bad = bad[name] {
            fail(bad.reason, bad.detail)
            return nil
        }
        guard let file = files[name] else { return nil }
        switch try logs.examine(file, of: peer) {
        case .sound(let transactions): return transactions
        case .incomplete(let detail): fail(.incomplete, detail)
        case .gone:
            isOutdated = true
            fail(.incomplete, "it has gone again")
        case .damaged(let detail): fail(.damaged, detail)
        case .newerFormat(let detail): fail(.newerFormat, detail)
        case .tooLarge(let detail): fail(.tooLarge, detail)
        }
        return nil
    }
}
