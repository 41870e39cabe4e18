import LogSyncModel

/// Makes a scenario from its seed.
struct ScenarioGenerator {
    let seed: UInt64
    private let allowed: Features
    private let certain: Features
    private var random: Random
    private var migrations: MigrationGenerator?

    /// - Parameters:
    ///   - allowed: what scenarios may make use of; each makes use of a part of it.
    ///   - certain: what this one makes use of in any case.
    init(seed: UInt64, allowed: Features, certain: Features = []) {
        self.seed = seed
        self.allowed = allowed
        self.certain = certain
        random = Random(seed: seed)
    }

    mutating func scenario() -> Scenario {
        let features = chosenFeatures()
        var schemas = SchemaGenerator(features: features, random: Random(seed: random.next()))
        let schema = schemas.schema()
        var programs = ProgramGenerator(schema: schema, features: features, random: Random(seed: random.next()))
        let isBig = random.chance(6)
        let count = isBig ? random.number(in: 4...8) : random.number(in: 2...3)
        var scenario = Scenario(seed: seed, features: features, schema: schema, peers: [])
        for index in 0..<count { scenario.peers.append(peer(index, features, &programs)) }
        scenario.hasFolders = features.contains(.folders)
        if scenario.hasFolders, features.contains(.crashes) {
            for index in scenario.peers.indices where random.chance(25) {
                scenario.peers[index].death = death(scenario)
            }
        }
        scenario.policies = policies(schema, features)
        addCommonRows(to: &scenario, &programs)
        if features.contains(.migrations) {
            migrations = MigrationGenerator(schema, peers: count, features: features, random: &random)
        }
        let rounds = random.number(isBig ? 6 : 4)
        for _ in 0..<rounds { addRound(to: &scenario, &programs) }
        return scenario
    }

    /// One of two or three peers and few steps, to be run many times.
    mutating func smallScenario() -> Scenario {
        let features = chosenFeatures().subtracting([.faults, .crashes])
        var schemas = SchemaGenerator(features: features, random: Random(seed: random.next()))
        let schema = schemas.schema(maximumTables: 2)
        var programs = ProgramGenerator(schema: schema, features: features, random: Random(seed: random.next()))
        var scenario = Scenario(seed: seed, features: features, schema: schema, peers: [])
        for index in 0..<(random.chance(25) ? 3 : 2) { scenario.peers.append(peer(index, features, &programs)) }
        scenario.hasFolders = true
        scenario.policies = policies(schema, features)
        programs.chooseHotTable()
        if features.contains(.migrations) {
            migrations = MigrationGenerator(
                schema, peers: scenario.peers.count, features: features, random: &random)
        }
        for peer in scenario.peers.indices { addChange(by: peer, to: &scenario, &programs) }
        for _ in 0..<2 { addExchange(to: &scenario, without: nil) }
        addTrouble(to: &scenario)
        addChange(by: 0, to: &scenario, &programs)
        addExchange(to: &scenario, without: nil)
        return scenario
    }

    /// Each seed leaves most of the features out, so that small scenarios are about few things.
    private mutating func chosenFeatures() -> Features {
        let share = random.pick([20, 50, 80])
        var chosen = certain
        for feature in Feature.allCases where allowed.contains(feature) {
            switch feature {
            case .folders: if random.chance(15) { chosen.insert(feature) }
            case .lies, .keyMigrations, .links: continue
            default: if random.chance(share) { chosen.insert(feature) }
            }
        }
        if chosen.contains(.keyMigrations) {
            // What is folded, and what is referred to by other columns than a key, has a key of its own to keep. A store
            // that another takes the place of has another schema than its program.
            chosen.subtract([
                .uniqueMerge, .uniqueParents, .compositeReferences, .restoredStores, .copiedStores, .retirement,
                .faults,
            ])
            chosen.insert(.migrations)
        }
        // A liar can say all of these things himself; what a death or a restored store may lose is another question.
        return chosen.contains(.lies)
            ? chosen.subtracting([
                .faults, .crashes, .powerCuts, .restoredStores, .copiedStores, .retirement, .migrations,
            ])
            : chosen
    }

    // MARK: Peers

    private mutating func peer(_ index: Int, _ features: Features, _ programs: inout ProgramGenerator) -> PeerModel {
        var peer = PeerModel(name: ["ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal"][index], beginning: .clones)
        if index == 0 {
            peer.beginning = .founds
        } else if features.contains(.joins), random.chance(30) {
            peer.beginning = .joins
        }
        if peer.beginning != .clones, features.contains(.foundRows), random.chance(60) { peer.rows = programs.rows() }
        peer.foreignKeysAreOn = features.contains(.foreignKeysOn) && random.chance(50)
        if features.contains(.skewedClocks) { peer.skew = skew() }
        return peer
    }

    private mutating func skew() -> Int64 {
        let day: Int64 = 86_400_000
        return random.pick([0, 1, -1, 50, -1000, 3_600_000, -day / 2, day / 3, -400 * day, -3 * 365 * day])
    }

    // MARK: Policies

    private mutating func policies(_ schema: SchemaModel, _ features: Features) -> [(target: String, policy: String)] {
        guard features.contains(.policies) else { return [] }
        return (0..<random.number(3)).compactMap { _ in policy(schema, features) }
    }

    private mutating func policy(_ schema: SchemaModel, _ features: Features) -> (target: String, policy: String)? {
        let table = random.pick(schema.tables)
        if random.chance(25) {
            var choices = ["last-writer", "first-writer", "manual", "delete-wins", "unique-park"]
            if features.contains(.lastWriterRow) { choices.append("last-writer-row") }
            if features.contains(.deleteLoses) { choices += ["delete-loses", "delete-loses"] }
            if features.contains(.uniqueMerge) { choices += ["unique-merge", "unique-merge"] }
            return (table.name, random.pick(choices))
        }
        // An integer key takes none.
        let columns = table.replicated.filter { !(table.keyIsRowid && table.key.contains($0.name)) }
        guard !columns.isEmpty else { return nil }
        let column = random.pick(columns)
        var choices = ["last-writer", "first-writer", "max", "min", "manual", "prefer bob,ada", "prefer eve,cyd"]
        if features.contains(.union), column.domain == .arrays { choices += ["union", "union", "union"] }
        if features.contains(.sum), column.domain == .integers || column.domain == .reals,
            !table.key.contains(column.name)
        {
            choices += ["sum", "sum", "sum", "sum"]
        }
        let policy = random.pick(choices)
        // What says which row is meant is no amount.
        if table.namesRows(column), ["max", "min"].contains(policy) { return nil }
        return ("\(table.name).\(column.name)", policy)
    }

    // MARK: Steps

    /// Rows that all have before they go separate ways: what is not shared is seldom contested.
    private mutating func addCommonRows(to scenario: inout Scenario, _ programs: inout ProgramGenerator) {
        guard random.chance(80) else { return }
        scenario.steps.append(.write(peer: 0, statements: programs.rows(), ending: .commit))
        for peer in scenario.peers.indices.dropFirst() {
            scenario.steps.append(.send(from: 0, to: peer))
            scenario.steps.append(.sync(peer: peer))
        }
    }

    /// Peers write, none knowing of the others; then some of it comes to some of them.
    private mutating func addRound(to scenario: inout Scenario, _ programs: inout ProgramGenerator) {
        programs.chooseHotTable()
        for peer in scenario.peers.indices.shuffled(using: &random) where random.chance(80) {
            for _ in 0..<random.number(3) { addChange(by: peer, to: &scenario, &programs) }
        }
        // Who is to be retired is one that nobody has heard of for a while.
        let isAway = scenario.features.contains(.retirement) && scenario.peers.count > 2 && random.chance(60)
        let away = isAway ? random.number(scenario.peers.count) - 1 : nil
        for _ in 0..<random.number(2 * scenario.peers.count) { addExchange(to: &scenario, without: away) }
        if let away { addRetirement(of: away, to: &scenario) }
        addTrouble(to: &scenario)
    }

    private mutating func addChange(by peer: Int, to scenario: inout Scenario, _ programs: inout ProgramGenerator) {
        if migrations != nil, random.chance(scenario.features.contains(.keyMigrations) ? 45 : 25),
            let migration = migrations?.migration(of: peer, random: &random, programs: &programs)
        {
            if migration.drops, scenario.features.contains(.collection) { addAcquaintance(to: &scenario) }
            scenario.steps.append(.migrate(peer: peer, migration))
        }
        if let schema = migrations?.schemas[peer] { programs.schema = schema }
        if !scenario.features.contains(.equalTimes) || random.chance(40) {
            scenario.steps.append(.pass(milliseconds: Int64(random.pick([1, 1, 5, 40, 1000, 3_600_000]))))
        }
        if scenario.features.contains(.clockJumps), random.chance(8) {
            scenario.steps.append(.skew(peer: peer, milliseconds: skew()))
        }
        if scenario.features.contains(.policyChanges), random.chance(6),
            let (target, policy) = policy(scenario.schema, scenario.features)
        {
            scenario.steps.append(.policy(peer: peer, target: target, policy: policy))
        }
        var ending = Step.Ending.commit
        if scenario.features.contains(.rollbacks), random.chance(8) { ending = .rollback }
        if scenario.features.contains(.embedded), random.chance(15) { ending = .embedded }
        scenario.steps.append(.write(peer: peer, statements: programs.transaction(), ending: ending))
        if random.chance(35) { scenario.steps.append(.record(peer: peer)) }
        if scenario.features.contains(.settling), random.chance(15) {
            scenario.steps.append(.settle(peer: peer, choice: random.next() >> 40))
        }
    }

    /// Everybody hears of everybody: what nobody known shows any more, nobody waits for.
    private func addAcquaintance(to scenario: inout Scenario) {
        guard scenario.hasFolders else { return }
        for _ in 0..<2 {
            for peer in scenario.peers.indices {
                scenario.steps.append(.sync(peer: peer))
                for other in scenario.peers.indices where other != peer {
                    scenario.steps.append(.send(from: peer, to: other))
                }
            }
        }
    }

    private mutating func addRetirement(of away: Int, to scenario: inout Scenario) {
        let count = scenario.peers.count
        let peer = (away + random.number(count - 1)) % count
        if random.chance(50) { scenario.steps.append(.retire(by: peer, other: away)) }
        guard scenario.hasFolders, scenario.features.contains(.collection) else { return }
        // What the others have heard of each other may go now.
        for _ in 0..<2 {
            for other in scenario.peers.indices where other != away && other != peer {
                scenario.steps += [.sync(peer: other), .send(from: other, to: peer)]
            }
            scenario.steps.append(.compact(peer: peer, days: 0))
            for other in scenario.peers.indices where other != away && other != peer {
                scenario.steps.append(.send(from: peer, to: other))
            }
        }
    }

    private mutating func addExchange(to scenario: inout Scenario, without away: Int?) {
        let count = scenario.peers.count
        let peer = random.number(count) - 1
        if peer == away { return }
        if random.chance(75) {
            let other = (peer + random.number(count - 1)) % count
            if other == away { return }
            // What a peer has not synced is not in its folder.
            if scenario.hasFolders, random.chance(70) { scenario.steps.append(.sync(peer: other)) }
            scenario.steps.append(.send(from: other, to: peer))
        }
        if random.chance(80) { scenario.steps.append(.sync(peer: peer)) }
    }

    private mutating func addTrouble(to scenario: inout Scenario) {
        for peer in scenario.peers.indices {
            if scenario.hasFolders, scenario.hasLies, random.chance(50) {
                scenario.steps.append(.lie(peer: peer, choice: random.next() >> 40))
                if random.chance(60) { scenario.steps.append(.sync(peer: peer)) }
            }
            if scenario.hasFolders, scenario.features.contains(.faults), random.chance(35) {
                scenario.steps.append(.fault(random.pick(Fault.allCases), peer: peer, choice: random.next() >> 40))
                if random.chance(60) { scenario.steps.append(.sync(peer: peer)) }
            }
            if scenario.hasFolders, scenario.features.contains(.snapshots), random.chance(25) {
                scenario.steps.append(.snapshot(peer: peer))
            }
            if scenario.hasFolders, scenario.features.contains(.collection), random.chance(25) {
                scenario.steps.append(.compact(peer: peer, days: random.pick([0, 0, 14])))
            }
            if scenario.hasFolders, scenario.features.contains(.restoredStores), random.chance(25) {
                scenario.steps.append(.backUp(peer: peer, vacuums: random.chance(50)))
            }
            if scenario.hasFolders, scenario.features.contains(.restoredStores), random.chance(20) {
                scenario.steps.append(.restore(peer: peer, losesState: random.chance(40)))
                if random.chance(60) { scenario.steps.append(.sync(peer: peer)) }
            }
            // What a store that is no more had published nobody mends.
            if scenario.hasFolders, scenario.features.contains(.copiedStores), !scenario.features.contains(.faults),
                random.chance(12)
            {
                let other = (peer + random.number(scenario.peers.count - 1)) % scenario.peers.count
                scenario.steps.append(.copy(from: other, to: peer, vacuums: random.chance(30)))
                migrations?.copy(from: other, to: peer)
                if random.chance(60) { scenario.steps.append(.sync(peer: peer)) }
            }
            if scenario.features.contains(.retirement), random.chance(12) {
                let other = (peer + random.number(scenario.peers.count - 1)) % scenario.peers.count
                scenario.steps.append(.retire(by: peer, other: other))
            }
            if scenario.features.contains(.crashes), random.chance(scenario.hasFolders ? 35 : 20) {
                scenario.steps.append(.crash(death(scenario), peer: peer))
                scenario.steps.append(.sync(peer: peer))
            }
        }
    }

    private mutating func death(_ scenario: Scenario) -> Death {
        var kinds = [Crash.store]
        if scenario.hasFolders { kinds.append(.fileSystem) }
        if scenario.features.contains(.powerCuts) {
            kinds.append(.power)
            if scenario.hasFolders { kinds.append(.fileSystemPower) }
        }
        return Death(
            kind: random.pick(kinds), change: random.number(40), extent: random.pick(Death.Extent.allCases))
    }
}
