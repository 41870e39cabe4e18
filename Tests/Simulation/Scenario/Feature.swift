/// What a scenario may make use of. Each can be left out, so that one fault does not hide the others.
enum Feature: String, CaseIterable, Sendable {
    // Schemas
    case references, selfReferences, cycles, joinTables, undeclaredReferences, keyReferences
    case uniqueParents, compositeReferences
    case unique, uniqueMultiple, uniqueNocase, uniqueReferences, uniquePartial, uniqueExpression, uniqueWithoutRowid
    case checks, notNull, strict, withoutRowid, generated, triggers, nocaseKeys, columnsIdentity, integerNaturalKeys
    case nullKeys, autoincrement, defaults
    // Programs
    case replace, upsert, keyChanges, swaps, rollbacks, embedded, settling, foreignKeysOn, wholeTables, foundRows
    // Policies
    case policies, union, policyChanges, sum, deleteLoses, uniqueMerge, lastWriterRow
    // The world
    case joins, skewedClocks, clockJumps, equalTimes
    // The folder, and what kills processes
    case folders, faults, crashes, powerCuts, restoredStores, snapshots, collection, copiedStores, retirement
    case migrations
    /// Somebody writes nonsense into the folder. Only where it is asked for: what is shown then, the oracle does not know.
    case lies
    /// Migrations touch keys and names. Only where it is asked for, so that other seeds stay what they are.
    case keyMigrations
    /// A table of links between rows, which have a number besides: two peers make the same link. Only where it is asked for,
    /// for the same reason.
    case links
}

typealias Features = Set<Feature>

extension Features {
    static let all = Set(Feature.allCases)

    /// Reads `name,name,…`. Returns nil for a name that is none.
    init?(names: String) {
        self = []
        for name in names.split(separator: ",") {
            guard let feature = Feature(rawValue: String(name)) else { return nil }
            insert(feature)
        }
    }

    /// Reads `name,-name,…`: what to add to and take from all. Returns nil for a name that is none.
    init?(changes: String) {
        self = .all
        for name in changes.split(separator: ",") {
            if name == "none" {
                self = []
            } else if name.hasPrefix("-"), let feature = Feature(rawValue: String(name.dropFirst())) {
                remove(feature)
            } else if let feature = Feature(rawValue: String(name)) {
                insert(feature)
            } else {
                return nil
            }
        }
    }
}
