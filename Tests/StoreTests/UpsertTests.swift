import AppStore
import Entitlements
import OpenSSL
import Postgres
import TestSupport
import Testing

@testable import Store

/// A row that a transaction takes for new may be stored after all.
@Suite struct UpsertTests {
    private static let key = PurchaseKey(
        environment: .production, bundleID: "com.example.pro", originalTransactionID: "1")

    private static func owner(_ user: Identifier) -> OwnerTable.Row {
        let ownership = Ownership(spans: [OwnershipSpan(userID: user)], rule: .accountToken)
        return (key: key, owner: StoredOwner(ownership, directUserID: user, appTransactionID: nil))
    }

    private static func client() async throws -> PostgresClient {
        PostgresClient(try await PostgresServer.shared.migratedDatabase(), connectionsMax: 1)
    }

    @Test func `a stored row that was taken for new is written in a second run`() async throws {
        let client = try await Self.client()
        var runs: [NewRows] = []
        for user: Identifier in ["anna", "bob"] {
            try await client.inserting { connection, newRows in
                runs.append(newRows)
                var pipeline = Pipeline()
                pipeline.add(OwnerTable.write, new: [Self.owner(user)], newRows, others: [])
                _ = try await connection.run(pipeline)
            }
        }
        #expect(runs == [.inserted, .inserted, .upserted])
        let rows = try await client.query("SELECT user_id FROM owners")
        #expect(rows.map { $0.text(0) } == ["bob"])
        await client.close()
    }

    @Test func `no other error makes a transaction run again`() async throws {
        let client = try await Self.client()
        var runs = 0
        await #expect(throws: PostgresError.self) {
            try await client.inserting { connection, _ in
                runs += 1
                _ = try await connection.query("INSERT INTO owners DEFAULT VALUES")
            }
        }
        #expect(runs == 1)
        await client.close()
    }

    @Test(arguments: [[1, 2], [2, 1]]) func `two workers that remember one ID as new leave the newest revision`(
        signed: [Int64]
    ) async throws {
        let client = try await Self.client()
        let memory = DedupeMemory(client: client)
        let key = PartKey.transaction(
            TransactionKey(environment: .production, bundleID: "com.example.pro", transactionID: "1"))
        for signed in signed {
            let revision = Revision(
                signedDate: Timestamp(milliseconds: signed), contentHash: SHA256.digest([UInt8(signed)]))
            let part = ObservedPart(key: key, revision: PartRevision(revision: revision))
            try await memory.raise(to: [.part(part, isNew: true)])
        }
        let known = try await memory.recall([key])
        #expect(known.map(\.revision?.revision.signedDate.milliseconds) == [2])
        await client.close()
    }
}
