import AppStore
import Entitlements
import Records
import TestSupport
import Testing

/// A revocation by a receipt holds, in whatever order receipts and JWS arrive.
struct ReceiptRevocationTests {
    private static let second: Int64 = 1_767_225_600_000

    @Test func `a newer receipt without a revocation does not lift an older one's`() {
        Self.expect(Self.second, of: [Self.receipt(1, revoked: Self.second), Self.receipt(2)])
    }

    @Test func `of several receipts with a revocation the newest of them decides`() {
        let receipts = [
            Self.receipt(1, revoked: Self.second), Self.receipt(2, revoked: Self.second + 5000), Self.receipt(4),
        ]
        Self.expect(Self.second + 5000, of: receipts)
    }

    @Test func `of two signed at once the greater content hash decides, silent ones aside`() {
        let one = Self.receipt(1, revoked: Self.second)
        let other = Self.receipt(1, revoked: Self.second + 5000)
        let greater = one.revision > other.revision ? one : other
        let revoked = greater.revocation?.date.milliseconds
        Self.expect(revoked, of: [one, other, Self.receipt(1), Self.receipt(3)])
    }

    @Test func `a JWS newer than the receipt that brought it lifts it, whatever is newer still`() {
        let receipts = [Self.receipt(1, revoked: Self.second), Self.receipt(4)]
        Self.expect(nil, of: receipts + [Self.fact(.jws, 3, nil)])
        Self.expect(Self.second, of: receipts + [Self.fact(.jws, 0, nil)])
    }

    @Test func `a JWS newer than the receipt that brought it changes it`() {
        let receipts = [Self.receipt(1, revoked: Self.second), Self.receipt(4)]
        let jws = Self.fact(.jws, 3, Self.second + 7250)
        Self.expect(Self.second + 7250, of: receipts + [jws])
    }

    private static func expect(_ revoked: Int64?, of facts: [TransactionFact]) {
        var sets: Set<[Track: TransactionFact]> = []
        for order in facts.permutations {
            for repeated in [order, order + order] {
                var set = FactSet()
                for fact in repeated { #expect(set.add(fact) == nil) }
                for tracks in set.transactions.values {
                    let merged = MergedTransaction(tracks: Array(tracks.values))
                    #expect(merged?.revocation?.date.milliseconds == revoked)
                    sets.insert(tracks)
                }
            }
        }
        #expect(sets.count == 1)
    }

    private static func receipt(_ signedDate: Int64, revoked: Int64? = nil) -> TransactionFact {
        fact(.receipt, signedDate, revoked)
    }

    private static func fact(_ track: Track, _ signedDate: Int64, _ revoked: Int64?) -> TransactionFact {
        Sample.transaction(
            track, signedDate: signedDate, content: "\(track) \(revoked.map { "\($0)" } ?? "silent")",
            purchaseDate: second, revoked: revoked)
    }
}
