import AppStore
import Entitlements
import OpenSSL
import Postgres
import Store
import TestSupport
import Testing

/// `TransactionTable` compares by the rules of `TransactionIdentity.conflict`.
struct ContradictionTests {
    @Test(arguments: [Environment.production, .sandbox, .xcode, .localTesting])
    func `the table and the fold find the same contradiction`(environment: Environment) async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        let connection = try await PostgresConnection.connect(options)
        let identities = Self.identities
        var conflicts: Set<ImmutableField> = []
        for known in identities {
            for asked in identities {
                _ = try await connection.query("TRUNCATE transactions")
                let (first, second) = (
                    Self.fact(known, environment, signed: 1), Self.fact(asked, environment, signed: 2)
                )
                _ = try await connection.run(TransactionTable.raise.insert, [first])
                let verdict = second.part.verdict(against: [first.part])
                let found = try await connection.run(TransactionTable.contradictions, [second])
                let raised = try await connection.run(TransactionTable.raise.upsert, [second])
                if case .conflict(let field) = verdict {
                    conflicts.insert(field)
                    #expect(found.map(\.field) == [field])
                    #expect(raised.affectedCount == 0)
                } else {
                    #expect(found.isEmpty)
                    #expect(raised.affectedCount == 1)
                    let row = try await connection.query(
                        "SELECT original_transaction_id, purchase_date_ms FROM transactions")[0]
                    #expect(row.text(0) == asked.originalTransactionID.text)
                    #expect(row.int8(1) == asked.purchaseDate.milliseconds)
                }
            }
        }
        #expect(conflicts == (environment.reusesIDs ? [] : Set(ImmutableField.allCases)))
    }

    private static let identities: [TransactionIdentity] = {
        let usual = TransactionIdentity(
            originalTransactionID: "1", productID: "pro", purchaseDate: Timestamp(milliseconds: 1_999),
            type: .autoRenewable, quantity: 1)
        func changed(_ change: (inout TransactionIdentity) -> Void) -> TransactionIdentity {
            var identity = usual
            change(&identity)
            return identity
        }
        let dates: [Int64] = [1_000, 2_000, 999, 0, -1, -1_000, -1_001]
        return [
            usual, changed { $0.originalTransactionID = "2" }, changed { $0.productID = "gold" },
            changed { $0.type = .consumable }, changed { $0.type = nil }, changed { $0.quantity = 2 },
            changed { $0.quantity = nil }, changed { ($0.type, $0.quantity) = (.consumable, 2) },
        ] + dates.map { date in changed { $0.purchaseDate = Timestamp(milliseconds: date) } }
    }()

    private static func fact(_ identity: TransactionIdentity, _ environment: Environment, signed: Int64)
        -> TransactionFact
    {
        TransactionFact(
            TransactionMembers(
                key: TransactionKey(environment: environment, bundleID: "com.example", transactionID: "1"), track: .jws,
                revision: Revision(
                    signedDate: Timestamp(milliseconds: signed), contentHash: SHA256.digest(Array("\(signed)".utf8))),
                trust: .apple, identity: identity))
    }
}
