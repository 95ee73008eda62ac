import AppStore
import DedupeStage
import EntitleStage
import Entitlements
import JSON
import Kafka
import LinkStage
import OpenSSL
import Postgres
import Records
import TestSupport
import Testing
import Simulation
import Topology
import VerifyStage
import Worker

/// Receipts through all four stages: the second track of the facts that JWS state.
@Suite(.timeLimit(.minutes(10))) struct ReceiptPathTests {
    static let day: Int64 = 86_400_000
    static let start: Int64 = 1_767_225_600_000
    static let token = LinkWorker.anna

    static func purchase(_ id: String = "1", _ change: (inout TransactionFields) -> Void = { _ in })
        -> TransactionFields
    {
        var fields = TransactionFields()
        fields.transactionID = id
        fields.originalTransactionID = "1"
        // A JWS has milliseconds, a receipt whole seconds.
        fields.purchaseDate = start + 789
        fields.originalPurchaseDate = start + 789
        fields.expiresDate = start + 30 * day + 789
        fields.appAccountToken = token
        fields.signedDate = start + 1_000
        change(&fields)
        return fields
    }

    static func receipt(_ transactions: [TransactionFields], at date: Int64 = start + day) -> ReceiptFields {
        var fields = ReceiptFields()
        fields.creationDate = date
        fields.records = transactions.map { ReceiptRecordFields($0) }
        return fields
    }

    @Test func `a receipt of a purchase known by JWS changes nothing and conflicts with nothing`() async throws {
        let path = try await ReceiptPath()
        try await path.publish(jws: Self.purchase())
        let rows = try await path.rows()
        #expect(rows.count == 1)
        let outcome = try await path.publish(Self.receipt([Self.purchase()]))
        #expect(outcome == [.applied])
        #expect(try await path.rows() == rows)
        let facts = try await path.facts()
        #expect(
            facts == [
                "jws 1 \(Self.start + 789) \(Self.token) Auto-Renewable Subscription",
                "receipt 1 \(Self.start) none Auto-Renewable Subscription",
            ])
        let again = Self.receipt([Self.purchase()], at: Self.start + 2 * Self.day)
        #expect(try await path.publish(again) == [.unchanged])
        #expect(try await path.publish(again) == [])
        #expect(try await path.rows() == rows)
    }

    @Test func `a receipt never lifts a revocation, and may add one`() async throws {
        let path = try await ReceiptPath()
        let revoked = Self.purchase {
            $0.revocationDate = Self.start + 2 * Self.day
            $0.revocationReason = 0
            $0.signedDate = Self.start + 2 * Self.day
        }
        try await path.publish(jws: revoked)
        let rows = try await path.rows()
        _ = try await path.publish(Self.receipt([Self.purchase()], at: Self.start + 9 * Self.day))
        #expect(try await path.rows() == rows)

        let other = try await ReceiptPath()
        try await other.publish(jws: Self.purchase())
        _ = try await other.publish(Self.receipt([revoked], at: Self.start + 9 * Self.day))
        let periods = try await other.periods()
        #expect(periods.map(\.end?.wholeSeconds) == [(Self.start + 2 * Self.day) / 1000])
    }

    @Test func `a purchase known by a receipt alone entitles the linked user`() async throws {
        let path = try await ReceiptPath()
        try await path.link.link("original_transaction_id", "1", "veteran")
        let renewal = Self.purchase("2") {
            $0.purchaseDate = Self.start + 30 * Self.day
            $0.expiresDate = Self.start + 60 * Self.day
        }
        let records = [Self.purchase(), renewal]
        #expect(try await path.publish(Self.receipt(records)) == [.applied, .applied])
        let rows = try await path.rows()
        #expect(rows.values.flatMap { $0 }.map(\.userID) == ["veteran"])
    }

    @Test func `a body formerly refused as unsupported entitles when it is replayed`() async throws {
        let path = try await ReceiptPath()
        try await path.publish(jws: Self.purchase())
        let renewal = Self.purchase("2") {
            $0.purchaseDate = Self.start + 30 * Self.day
            $0.expiresDate = Self.start + 60 * Self.day
        }
        let body = try path.body(Self.receipt([Self.purchase(), renewal]))
        // A dead letter holds the original bytes, and replaying needs nothing else.
        let dead = path.deadLetter(of: body, reason: .receiptUnsupported)
        let before = try await path.periods()
        #expect(try await path.process(try #require(dead.value)) == [.applied, .applied])
        let after = try await path.periods()
        #expect(before.last?.end != after.last?.end)
        #expect(after.last?.end?.milliseconds == Self.start + 60 * Self.day)
        #expect(try await path.rows().values.flatMap { $0 }.map(\.userID) == ["anna"])
    }

    @Test func `a receipt and JWS in any order give the same rows`() async throws {
        let renewal = Self.purchase("2") {
            $0.purchaseDate = Self.start + 30 * Self.day
            $0.expiresDate = Self.start + 60 * Self.day
            $0.signedDate = Self.start + 30 * Self.day
        }
        let receipts = [
            Self.receipt([Self.purchase()]), Self.receipt([Self.purchase(), renewal], at: Self.start + 40 * Self.day),
        ]
        var all: [Set<[PurchaseKey: Set<EntitlementRow>]>] = []
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let path = try await ReceiptPath()
            for step in order {
                switch step {
                case 0: try await path.publish(jws: Self.purchase())
                case 1: try await path.publish(jws: renewal)
                default: _ = try await path.publish(receipts[step - 2])
                }
            }
            all.append([try await path.rows()])
        }
        #expect(Set(all).count == 1)
    }

    @Test func `a receipt's revocation stays for every reader, in any order`() async throws {
        let receipts = ([(3, 2), (5, 4), (9, nil)] as [(Int64, Int64?)]).map { at, revoked in
            let purchase = Self.purchase { fields in fields.revocationDate = revoked.map { Self.start + $0 * Self.day }
            }
            return Self.receipt([purchase], at: Self.start + at * Self.day)
        }
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let path = try await ReceiptPath()
            try await path.publish(jws: Self.purchase())
            for place in order { _ = try await path.publish(receipts[place]) }
            let periods = try await path.periods()
            #expect(periods.map(\.end?.milliseconds) == [Self.start + 4 * Self.day], "\(order)")
            for table in ["transactions", "ownership_facts"] {
                let known = try await path.link.client.query(
                    """
                    SELECT concat_ws(' ', signed_date_ms, revocation_date_ms,
                        revoked_signed_date_ms)
                    FROM \(table) WHERE track = 'receipt'
                    """)
                let dates = ([9, 4, 5] as [Int64]).map { "\(Self.start + $0 * Self.day)" }
                #expect(known.map { $0.text(0) } == [dates.joined(separator: " ")], "\(order)")
            }
        }
    }
}
