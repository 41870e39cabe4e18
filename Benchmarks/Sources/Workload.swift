/// The rows that every contestant writes: the same ones in the same order.
struct Workload {
    struct Item {
        var id: String
        var title: String
        var body: String
        var quantity: Int64
        var price: Double
        var done: Int64
    }

    static let schema = """
        CREATE TABLE items(
            id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL DEFAULT '', body TEXT, qty INTEGER, price REAL, done INTEGER)
        """
    static let content = "SELECT id, title, body, qty, price, done FROM items ORDER BY id"

    /// Written in one transaction.
    let items: [Item]
    /// Written one a transaction.
    let singles: [Item]
    /// The items in another order, with other titles and quantities.
    let updates: [Item]
    /// Every other one of the updated items.
    let deletes: [String]

    init(rows: Int, transactions: Int, seed: UInt64 = 1) {
        var random = SplitMix(state: seed)
        items = (0..<rows).map { _ in Self.item(&random) }
        singles = (0..<transactions).map { _ in Self.item(&random) }
        updates = items.shuffled(using: &random).map { item in
            var item = item
            item.title = Self.words(20, &random)
            item.quantity += 1
            return item
        }
        deletes = updates.indices.filter { $0.isMultiple(of: 2) }.map { [updates] in updates[$0].id }
    }

    static func item(_ random: inout SplitMix) -> Item {
        Item(
            id: uuid(&random), title: words(20, &random), body: words(100, &random),
            quantity: Int64.random(in: 0..<1000, using: &random),
            price: Double(Int.random(in: 0..<100_000, using: &random)) / 100,
            done: Int64.random(in: 0...1, using: &random))
    }

    private static func uuid(_ random: inout SplitMix) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var bytes: [UInt8] = []
        for index in 0..<36 {
            if [8, 13, 18, 23].contains(index) {
                bytes.append(UInt8(ascii: "-"))
            } else if index == 14 {
                bytes.append(UInt8(ascii: "4"))
            } else {
                bytes.append(digits[Int.random(in: 0..<16, using: &random)])
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let vocabulary = """
        the of and a to in is you that it he was for on are as with his they at be this have from or one had by word \
        but not what all were we when your can said there use an each which she do how their if will up other about
        """.split(separator: " ").map { Array($0.utf8) }

    /// So many bytes of words.
    private static func words(_ count: Int, _ random: inout SplitMix) -> String {
        var bytes: [UInt8] = []
        while bytes.count < count {
            bytes += vocabulary[Int.random(in: 0..<vocabulary.count, using: &random)]
            bytes.append(UInt8(ascii: " "))
        }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}

/// A generator whose run is its seed (SplitMix64).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
}

/// What a program does to its items, whatever replicates them.
extension PlainDatabase {
    func insert(_ items: [Workload.Item]) throws { try transaction { try insertEach(items) } }

    /// One a transaction.
    func insertSingly(_ items: [Workload.Item]) throws { try insertEach(items) }

    func insertEach(_ items: [Workload.Item]) throws {
        let statement = try prepare("INSERT INTO items(id, title, body, qty, price, done) VALUES (?, ?, ?, ?, ?, ?)")
        for item in items {
            statement.bind(item.id, at: 1)
            statement.bind(item.title, at: 2)
            statement.bind(item.body, at: 3)
            statement.bind(item.quantity, at: 4)
            statement.bind(item.price, at: 5)
            statement.bind(item.done, at: 6)
            try statement.run()
        }
    }

    func update(_ items: [Workload.Item]) throws { try transaction { try updateEach(items) } }

    func updateEach(_ items: [Workload.Item]) throws {
        let statement = try prepare("UPDATE items SET title = ?, qty = ? WHERE id = ?")
        for item in items {
            statement.bind(item.title, at: 1)
            statement.bind(item.quantity, at: 2)
            statement.bind(item.id, at: 3)
            try statement.run()
        }
    }

    func delete(_ keys: [String]) throws { try transaction { try deleteEach(keys) } }

    func deleteEach(_ keys: [String]) throws {
        let statement = try prepare("DELETE FROM items WHERE id = ?")
        for key in keys {
            statement.bind(key, at: 1)
            try statement.run()
        }
    }
}
