import LogSyncModel
import Testing

@testable import LogSync

@Suite("Wakes")
struct WakeTests {
    private let id = PeerID(high: 1, low: 2)

    @Test("A hint says in whose folder something changed, where it was in one")
    func places() {
        let content = "/sync/notes"
        let own = "\(content)/peers/\(id)"
        #expect(Watchers.peer("\(own)/logs", "x.tlog", content: content) == id)
        #expect(Watchers.peer(own, "receipt.json", content: content) == id)
        #expect(Watchers.peer(own, nil, content: content) == id)
        #expect(Watchers.peer("\(content)/peers", "\(id)", content: content) == id)
        #expect(Watchers.peer("\(content)/peers", nil, content: content) == nil)
        #expect(Watchers.peer("\(content)/peers", "x.tmp", content: content) == nil)
        #expect(Watchers.peer(content, "logsync.json", content: content) == nil)
        #expect(Watchers.peer(content, nil, content: content) == nil)
        #expect(Watchers.peer("/elsewhere/peers/\(id)", nil, content: content) == nil)
    }

    @Test("What a sync engine writes aside is not looked for before it has its name")
    func onItsWay() {
        let names = [
            ".logsync-1.tmp", ".syncthing.000000000001.tlog.tmp", "000000000001-000000000001-ab.tlog", "receipt.json",
        ]
        #expect(names.map(Watchers.isOnItsWay) == [true, true, false, false])
    }

    @Test("Wakes are gathered until they are taken, and one from anywhere is for everywhere")
    func gathering() {
        let wakes = WakeQueue()
        #expect(wakes.take().reasons == [])
        wakes.wake(.local)
        #expect(wakes.take().peers == [], "a commit says nothing of the folder")
        wakes.wake(.folder, in: id)
        wakes.wake(.commit)
        wakes.wake(.folder, in: PeerID(high: 3, low: 4))
        let taken = wakes.take()
        #expect(taken.reasons == [.folder, .commit] && taken.peers == [id, PeerID(high: 3, low: 4)])
        wakes.wake(.folder)
        wakes.wake(.folder, in: id)
        #expect(wakes.take().peers == nil)
        #expect(wakes.take().peers == [])
    }

    @Test("What the peer that the store is at the time has published itself is no news, and all else is")
    func own() {
        var wake = Wake(reasons: [.folder, .local], peers: [id])
        wake.leaveOut(PeerID(high: 3, low: 4))
        #expect(wake.reasons == [.folder, .local] && wake.peers == [id])
        wake.leaveOut(id)
        #expect(wake.reasons == .local)
        wake = Wake(reasons: .folder, peers: [id, PeerID(high: 3, low: 4)])
        wake.leaveOut(id)
        #expect(wake.reasons == .folder && wake.peers == [PeerID(high: 3, low: 4)])
        wake = Wake(reasons: [.folder, .full], peers: nil)
        wake.leaveOut(id)
        #expect(wake.reasons == [.folder, .full] && wake.peers == nil)
    }

    @Test("After a failure only a full look says that all is well, and what succeeds before has it come soon")
    func afterFailure() async throws {
        let wakes = WakeQueue()
        var state = DaemonState(wakes: wakes, receiptDelay: .zero)
        var said = [state.succeed(.local)]
        state.trouble = .ioError
        // Many failures, after which it would be tried again in half a minute.
        for _ in 0..<8 {
            state.fail(retryAfter: .seconds(3600))
            said += [state.succeed([.local, .commit]), state.succeed(.folder)]
        }
        try #require(said == [true] + Array(repeating: false, count: 16))
        for await _ in wakes.signals { break }
        #expect(wakes.take().reasons == .full)
        state.schedule(.full)
        let isWell = state.succeed([.full, .folder])
        #expect(isWell)
        state.stop()
    }

    @Test("A store that no program has open is let go of at the first opportunity, and one that is shared later")
    func rest() async throws {
        let wakes = WakeQueue()
        var lone = DaemonState(wakes: WakeQueue(), receiptDelay: .zero)
        lone.postponeRest()
        let isTime = lone.noteRest(isShared: false)
        #expect(isTime)
        lone.stop()
        // Where it is not time, another wake comes when it is.
        var shared = DaemonState(wakes: wakes, receiptDelay: .zero)
        shared.postponeRest()
        var answers: [Bool] = []
        while answers.last != true, answers.count < 3 {
            for await _ in wakes.signals { break }
            try #require(wakes.take().reasons == .rest)
            answers.append(shared.noteRest(isShared: true))
        }
        // On a machine that stands still for long, the first wake is late.
        #expect(answers == [false, true] || answers == [true])
        shared.stop()
    }
}
