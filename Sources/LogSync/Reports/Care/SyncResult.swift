/// What one round of `sync`, `import` or `export` did to one store.
public struct SyncResult: Sendable, Encodable {
    /// The store's path.
    public var store: String
    /// How many transactions were recorded, published and imported.
    public var recorded = 0
    public var published = 0
    public var imported = 0
    /// What is in the container and could not be imported.
    public var held: [HeldItem] = []

    public init(store: String) {
        self.store = store
    }

    public var outcome: Outcome { Outcome(held: held) }

    private enum CodingKeys: String, CodingKey {
        case store, recorded, published, imported, held
    }
}

/// The JSON document that `sync`, `import` and `export` print.
package struct SyncReport: Sendable, Encodable {
    package let format = 1
    package var stores: [SyncResult]

    package init(stores: [SyncResult]) {
        self.stores = stores
    }

    private enum CodingKeys: String, CodingKey {
        case format, stores
    }
}
