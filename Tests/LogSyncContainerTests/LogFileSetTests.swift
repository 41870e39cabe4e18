import Testing

@testable import LogSyncContainer

@Suite struct LogFileSetTests {
    private func name(_ first: UInt64, _ last: UInt64, _ hash: UInt64 = 0) -> LogFileName {
        guard let name = LogFileName(first: first, last: last, fileHash: FileHash(high: hash, low: first * 1000 + last))
        else { preconditionFailure("a range out of order") }
        return name
    }

    @Test func `Of overlapping files the one that reaches furthest is chosen`() {
        let set = LogFileSet([name(1, 1), name(2, 2), name(3, 3), name(1, 3), name(2, 5), name(7, 9)])
        #expect(set.choice(for: 1) == .file(name(1, 3)))
        #expect(set.choice(for: 2) == .file(name(2, 5)))
        #expect(set.choice(for: 4) == .file(name(2, 5)))
        #expect(set.choice(for: 6) == .gap(next: 7))
        #expect(set.choice(for: 8) == .file(name(7, 9)))
        #expect(set.choice(for: 10) == .end)
        #expect(set.reach == 9)
        #expect(LogFileSet([]).choice(for: 1) == .end)
    }

    @Test func `A file that cannot be used gives way to another that holds the same`() {
        let set = LogFileSet([name(1, 1), name(2, 2), name(1, 9), name(12, 12)])
        #expect(set.choice(for: 1) { $0 != name(1, 9) } == .file(name(1, 1)))
        #expect(set.choice(for: 2) { $0 != name(1, 9) } == .file(name(2, 2)))
        #expect(set.choice(for: 3) { $0 != name(1, 9) } == .gap(next: 12))
    }

    @Test func `A last file that cannot be used is a gap, not the end`() {
        #expect(LogFileSet([name(1, 9)]).choice(for: 4) { _ in false } == .gap(next: 10))
    }

    @Test func `Two files of one range are chosen from in a fixed order`() {
        let set = LogFileSet([name(1, 2, 9), name(1, 2, 3)])
        #expect(set.choice(for: 1) == .file(name(1, 2, 3)))
        #expect(set.candidates(for: 1).count == 2)
    }

    @Test func `The choice agrees with trying every file`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let names = (0..<12).map { _ in
                let first = UInt64.random(in: 1...20, using: &generator)
                return name(first, first + UInt64.random(in: 0...6, using: &generator))
            }
            let set = LogFileSet(Set(names))
            for sequence in 1...UInt64(30) {
                let best = names.filter { $0.covers(sequence) }.map(\.last).max()
                let later = names.map(\.first).filter { $0 > sequence }.min()
                switch set.choice(for: sequence) {
                case .file(let chosen): #expect(chosen.last == best && chosen.covers(sequence))
                case .gap(let next): #expect(best == nil && next == later)
                case .end: #expect(best == nil && later == nil)
                }
            }
        }
    }
}
