import AppStore
import Entitlements
import Testing

struct DedupeDecisionTests {
    /// The content with the greater hash of the two, whatever the hash function.
    private static let greater =
        Sample.revision(signedDate: 0, content: "A") > Sample.revision(signedDate: 0, content: "B") ? "A" : "B"
    private static let lesser = greater == "A" ? "B" : "A"

    @Test(arguments: [
        ("same content, same date", "A", Int64(5), PartVerdict.duplicate),
        ("same content, older date", "A", 4, .duplicate), ("same content, newer date", "A", 6, .refreshed),
        ("other content, older date", "B", 4, .superseded), ("other content, newer date", "B", 6, .new),
    ]) func `a part is compared by content, then by date`(
        name: String, content: String, signedDate: Int64, expected: PartVerdict
    ) {
        let known = PartRevision(revision: Sample.revision(signedDate: 5, content: "A"))
        let part = PartRevision(revision: Sample.revision(signedDate: signedDate, content: content))
        #expect(part.verdict(against: [known]) == expected, "\(name)")
    }

    @Test func `of equal dates the greater content hash wins`() {
        let greater = PartRevision(revision: Sample.revision(signedDate: 5, content: Self.greater))
        let lesser = PartRevision(revision: Sample.revision(signedDate: 5, content: Self.lesser))
        #expect(greater.verdict(against: [lesser]) == .new)
        #expect(lesser.verdict(against: [greater]) == .superseded)
    }

    @Test func `an unknown ID is new`() {
        let part = PartRevision(revision: Sample.revision(signedDate: 5, content: "A"))
        #expect(part.verdict(against: []) == .new)
    }

    @Test func `content that comes back is new again`() {
        var known: [PartRevision] = []
        for (signedDate, content) in [(1, "A"), (2, "B"), (3, "A")] as [(Int64, String)] {
            let part = PartRevision(revision: Sample.revision(signedDate: signedDate, content: content))
            #expect(part.verdict(against: known) == .new)
            known.append(part)
        }
    }

    @Test func `the newest known revision decides, in any order`() {
        let known = [(3, "A"), (1, "A"), (2, "B")].map { date, content in
            PartRevision(revision: Sample.revision(signedDate: date, content: content))
        }
        let late = PartRevision(revision: Sample.revision(signedDate: 2, content: "B"))
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            #expect(late.verdict(against: order.map { known[$0] }) == .superseded)
        }
    }

    @Test func `each track has a newest revision of its own`() {
        let jws = PartRevision(revision: Sample.revision(signedDate: 9, content: "A"))
        let receipt = PartRevision(track: .receipt, revision: Sample.revision(signedDate: 5, content: "R"))
        #expect(receipt.verdict(against: [jws]) == .new)
        #expect(receipt.verdict(against: [jws, receipt]) == .duplicate)
    }

    @Test(arguments: [
        (Sample.identity(original: "2000"), ImmutableField.originalTransactionID),
        (Sample.identity(product: "pro.yearly"), .productID),
        (Sample.identity(purchaseDate: 1_767_225_601_000), .purchaseDate), (Sample.identity(type: .consumable), .type),
        (Sample.identity(quantity: 2), .quantity),
    ]) func `a field that never changes and differs is a conflict`(identity: TransactionIdentity, field: ImmutableField)
    {
        let known = Self.revision(Sample.identity())
        #expect(Self.revision(identity).verdict(against: [known]) == .conflict(field))
        #expect(known.verdict(against: [Self.revision(identity)]) == .conflict(field))
    }

    @Test(arguments: [
        Sample.identity(type: nil), Sample.identity(quantity: nil), Sample.identity(type: nil, quantity: nil),
    ]) func `an absent field never conflicts`(identity: TransactionIdentity) {
        let known = Self.revision(Sample.identity())
        #expect(Self.revision(identity, signedDate: 6).verdict(against: [known]) == .refreshed)
    }

    @Test(arguments: Track.allCases) func `purchase dates compare in whole seconds`(track: Track) {
        let known = Self.revision(Sample.identity(purchaseDate: 1_767_225_600_999))
        let sameSecond = Self.revision(Sample.identity(purchaseDate: 1_767_225_600_000), signedDate: 6, track: track)
        let nextSecond = Self.revision(Sample.identity(purchaseDate: 1_767_225_601_000), signedDate: 6, track: track)
        #expect(sameSecond.verdict(against: [known]) == (track == .jws ? .refreshed : .new))
        #expect(nextSecond.verdict(against: [known]) == .conflict(.purchaseDate))
    }

    @Test(arguments: [Environment.production, .sandbox, .xcode, .localTesting])
    func `in environments that reuse IDs nothing conflicts`(environment: Environment) {
        func part(_ signedDate: Int64, _ product: String) -> PartRevision {
            var fact = Sample.transaction(.jws, signedDate: signedDate, purchaseDate: signedDate)
            fact.value.revision = Sample.revision(signedDate: signedDate, content: product)
            fact.value.key.environment = environment
            fact.value.identity.productID = Identifier(product)
            return fact.part
        }
        let isOfTests = [.xcode, .localTesting].contains(environment)
        let (old, new) = (part(1_000, "a"), part(9_000, "b"))
        #expect(new.verdict(against: [old]) == (isOfTests ? .new : .conflict(.productID)))
        #expect(old.verdict(against: [new]) == (isOfTests ? .superseded : .conflict(.productID)))
    }

    @Test(arguments: [
        ([PartVerdict.duplicate, .duplicate], nil as Bool?, DedupeDecision.duplicate),
        ([.duplicate, .new], nil, .forwarded), ([.superseded, .refreshed], nil, .refreshed),
        ([.superseded, .duplicate], nil, .superseded), ([.superseded, .new], nil, .forwarded),
        ([.duplicate], true, .duplicate), ([.duplicate], false, .forwarded), ([.superseded], false, .forwarded),
        ([], true, .duplicate), ([], false, .forwarded), ([.new, .conflict(.productID)], false, .conflict(.productID)),
    ]) func `an observation is dropped only if no part is new`(
        verdicts: [PartVerdict], isNotificationKnown: Bool?, expected: DedupeDecision
    ) {
        let decision = DedupeDecision(verdicts, isNotificationKnown: isNotificationKnown)
        #expect(decision == expected)
        #expect(decision.goesOn == [.forwarded, .refreshed, .superseded].contains(expected))
    }

    @Test func `a part without an ID is never a duplicate`() {
        #expect(DedupeDecision([], hasUnidentified: true) == .forwarded)
    }

    private static func revision(_ identity: TransactionIdentity, signedDate: Int64 = 5, track: Track = .jws)
        -> PartRevision
    { PartRevision(track: track, revision: Sample.revision(signedDate: signedDate, content: "A"), identity: identity) }
}
