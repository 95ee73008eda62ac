import AppStore
import Entitlements
import JSON
import OpenSSL
import Testing

struct TransactionFactTests {
    @Test func `seats, period and ownership are read as signed`() throws {
        let fact = try Self.fact(
            """
            "inAppOwnershipType":"ASSIGNED","webOrderLineItemId":"2000000900000077",
            "transactionReason":"RENEWAL","additionalTransactionReason":"seatAddition",
            "revokedSeatQuantity":2
            """)
        #expect(fact.ownershipType == .assigned)
        #expect(fact.webOrderLineItemID == "2000000900000077")
        #expect(fact.transactionReason == "RENEWAL")
        #expect(fact.additionalTransactionReason == "seatAddition")
        #expect(fact.revokedSeatQuantity == 2)
    }

    @Test(arguments: ["PURCHASED", "FAMILY_SHARED", "ASSIGNED", "LEASED", "purchased"])
    func `a type of ownership keeps its name`(name: String) throws {
        let type = try #require(Self.fact(#""inAppOwnershipType":"\#(name)""#).ownershipType)
        #expect(type.rawValue == name)
        if case .other = type {
            #expect(["LEASED", "purchased"].contains(name))
        } else {
            #expect(["PURCHASED", "FAMILY_SHARED", "ASSIGNED"].contains(name))
        }
    }

    @Test(arguments: [
        (#""revokedSeatQuantity":3,"multiSeatInfo":{"revokedSeatQuantity":2}"#, 3),
        (#""multiSeatInfo":{"revokedSeatQuantity":2}"#, 2), (#""multiSeatInfo":{"revokedSeatQuantity":"2"}"#, 0),
        (#""multiSeatInfo":{"revokedSeatQuantity":2147483648}"#, 0), (#""multiSeatInfo":{}"#, 0),
        (#""multiSeatInfo":[]"#, nil), (#""quantity":5"#, nil),
    ]) func `revoked seats are read from the transaction or its seat information`(members: String, seats: Int32?) throws
    { #expect(try Self.fact(members).revokedSeatQuantity == seats) }

    /// A period for it would hold all transactions of an Xcode session.
    @Test func `a line item of zero names no period`() throws {
        #expect(try Self.fact(#""webOrderLineItemId":"0""#).webOrderLineItemID == nil)
    }

    @Test func `a receipt's line item is merged into the JWS's facts`() throws {
        let jws = try Self.fact(#""inAppOwnershipType":"PURCHASED""#)
        let receipt = try Self.fact(#""webOrderLineItemId":"77""#, track: .receipt)
        let merged = MergedTransaction(jws: jws, receipt: receipt)
        #expect(merged.webOrderLineItemID == "77")
        #expect(merged.ownershipType == .purchased)
    }

    private static func fact(_ members: String, track: Track = .jws) throws -> TransactionFact {
        let payload = try Sample.json(
            """
            {"transactionId":"2","originalTransactionId":"1","productId":"pro",
            "purchaseDate":1767225600000,"signedDate":1767225600001,\(members)}
            """)
        return try #require(
            TransactionFact(
                TransactionPayload(payload), revision: Sample.revision(signedDate: 1_767_225_600_001, content: members),
                environment: .production, bundleID: Sample.bundleID, track: track, trust: .apple))
    }
}
