import AppStore
import Entitlements
import Testing

struct TrackMergeTests {
    private static let second: Int64 = 1_767_225_600_000

    @Test func `a receipt may add a revocation`() {
        let merged = MergedTransaction(
            jws: Self.fact(.jws, signedDate: 1), receipt: Self.fact(.receipt, signedDate: 2, revoked: Self.second))
        #expect(merged.revocation?.date.milliseconds == Self.second)
    }

    @Test(arguments: [Int64(1), 3]) func `a receipt never lifts a revocation`(signedDate: Int64) {
        let merged = MergedTransaction(
            jws: Self.fact(.jws, signedDate: 2, revoked: Self.second + 250),
            receipt: Self.fact(.receipt, signedDate: signedDate))
        #expect(merged.revocation?.date.milliseconds == Self.second + 250)
    }

    @Test func `a reversal in the newer JWS lifts an older receipt's revocation`() {
        let merged = MergedTransaction(
            jws: Self.fact(.jws, signedDate: 3), receipt: Self.fact(.receipt, signedDate: 2, revoked: Self.second))
        #expect(merged.revocation == nil)
    }

    @Test func `if both have a field the newer signed date decides`() {
        let extended = Self.second + 5000
        let jws = Self.fact(.jws, signedDate: 2, expires: Self.second + 1)
        let newer = Self.fact(.receipt, signedDate: 3, expires: extended)
        let older = Self.fact(.receipt, signedDate: 1, expires: extended)
        #expect(MergedTransaction(jws: jws, receipt: newer).expiresDate?.milliseconds == extended)
        #expect(MergedTransaction(jws: jws, receipt: older).expiresDate?.milliseconds == Self.second + 1)
    }

    @Test func `within one second the JWS's date is the finer`() {
        let merged = MergedTransaction(
            jws: Self.fact(.jws, signedDate: 1, expires: Self.second + 999),
            receipt: Self.fact(.receipt, signedDate: 2, expires: Self.second))
        #expect(merged.expiresDate?.milliseconds == Self.second + 999)
        #expect(merged.purchaseDate.milliseconds == Self.second + 7)
    }

    @Test func `a field that one track lacks comes from the other`() {
        var receipt = Self.fact(.receipt, signedDate: 5)
        receipt.value.identity.type = nil
        receipt.value.identity.quantity = 3
        var jws = Self.fact(.jws, signedDate: 1, expires: nil)
        jws.value.identity.quantity = nil
        jws.value.isUpgraded = true
        receipt.value.expiresDate = Timestamp(milliseconds: Self.second)
        let merged = MergedTransaction(jws: jws, receipt: receipt)
        #expect(merged.type == .autoRenewable)
        #expect(merged.quantity == 3)
        #expect(merged.isUpgraded)
        #expect(merged.expiresDate?.milliseconds == Self.second)
    }

    private static func fact(_ track: Track, signedDate: Int64, expires: Int64? = nil, revoked: Int64? = nil)
        -> TransactionFact
    {
        Sample.transaction(
            track, signedDate: signedDate, purchaseDate: track == .jws ? second + 7 : second, expires: expires,
            revoked: revoked)
    }
}
