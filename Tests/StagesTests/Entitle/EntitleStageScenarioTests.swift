import AppStore
import Entitlements
import Postgres
import Records
import TestSupport
import Testing
import Worker

/// The scenarios through the real stage and PostgreSQL: its rows equal those of the pure fold.
struct EntitleStageScenarioTests {
    @Test(arguments: Scenario.names) func `in any order, doubled and in batches of any size, the rows are the fold's`(
        name: String
    ) async throws {
        let scenario = try Scenario.load(name)
        let worker = try await EntitleWorker()
        try await worker.apply(catalog: scenario.catalogJSON)
        var facts = FactSet()
        var fold = scenario.fold(facts)
        var rest = (scenario.observations + scenario.observations).shuffled()[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(Int.random(in: 1...4)))
            rest = rest.dropFirst(batch.count)
            for observation in batch { facts.add(observation) }
            let before = fold
            fold = scenario.fold(facts)
            try await worker.own(fold.ownership)
            let relinked = fold.relinked(since: before, beside: batch)
            let verdicts = try await worker.process(batch + relinked)
            #expect(verdicts.allSatisfy { $0.disposition != .deadLettered })
            #expect(verdicts.count == batch.count + relinked.count)
        }
        #expect(try await worker.rows() == fold.rows)
        #expect(try await worker.rowsByHistory() == fold.rows)
        #expect(try await worker.usersWithBrokenVersions() == [])
        #expect(try await worker.balances() == scenario.balances)
        #expect(try await worker.subscriptionsWithOtherEnds() == [])
    }
}

extension EntitleWorker {
    /// Rows of `subscriptions` whose access ends at another time than the rows of their purchase.
    fileprivate func subscriptionsWithOtherEnds() async throws -> [String] {
        try await client.query(
            """
            SELECT row_to_json(known)::text FROM subscriptions AS known
            CROSS JOIN LATERAL (
                SELECT max(upper(periods)) AS until FROM entitlements AS held
                WHERE held.original_transaction_id = known.original_transaction_id
                    AND held.environment = known.environment AND held.bundle_id = known.bundle_id
                    AND held.user_id = known.user_id
            ) AS held
            WHERE date_trunc('second', active_until)
                    <> date_trunc('second', coalesce(held.until, least(active_until, purchased_at)))
                -- A period of another product may last longer.
                AND NOT EXISTS (
                    SELECT FROM purchases AS other
                    WHERE other.original_transaction_id = known.original_transaction_id
                        AND other.product_id <> known.product_id AND other.expires_at = held.until)
                AND user_id IS NOT NULL
            """
        ).map { $0.text(0) }
    }
}

extension EntitlementFold {
    /// The link observations of purchases outside of the batch with a changed owner.
    fileprivate func relinked(since before: EntitlementFold, beside batch: [Observation]) -> [Observation] {
        let inHand = Set(batch.compactMap(\.originalTransactionID))
        return ownership.filter { key, owner in
            owner != before.ownership[key] && !inHand.contains(key.originalTransactionID)
        }.map { Observation.relinking($0.key) }
    }
}

extension Scenario {
    func fold(_ facts: FactSet) -> EntitlementFold {
        EntitlementFold(facts, links: links, rules: rules, catalog: catalog)
    }
}
