import LogSyncModel
import Testing

@Suite struct MergePolicyTests {
    @Test func `of versions with equal times the peer's id and then the sequence decide which is the later`() {
        func version(_ milliseconds: Int64, _ peer: UInt64, _ sequence: UInt64) -> MergePolicy.Version {
            MergePolicy.Version(
                value: .integer(0), dot: Dot(PeerID(high: 0, low: peer), sequence),
                time: HybridTime(milliseconds: milliseconds))
        }
        let inOrder = [version(1, 9, 9), version(2, 1, 5), version(2, 1, 6), version(2, 2, 1), version(3, 1, 1)]
        for (index, later) in inOrder.enumerated() {
            for (other, earlier) in inOrder.enumerated() {
                #expect(earlier.precedes(later) == (other < index))
            }
        }
    }
}
