import AppStore
package import Kafka
package import Postgres
import Records
import Store
package import Worker

/// Answers the requests of refused records with the entitlements of the record's user.
///
/// The sender of a repeated or contradicting purchase is a customer whose app displays the entitlements.
package struct RefusalAnswers: Sendable {
    private let client: PostgresClient

    package init(client: PostgresClient) { self.client = client }

    /// Adds the user to the verdicts on refused records that a request waits for.
    ///
    /// The last observation of a body also gets the user's entitlements. Does nothing if no request waits.
    ///
    /// - Parameter verdicts: the verdicts on `records`, in the same order.
    package func complete(_ verdicts: [Verdict], of records: [ConsumerRecord]) async throws -> [Verdict] {
        var verdicts = verdicts
        for index in verdicts.indices where verdicts[index].isRefused {
            let record = records[index]
            guard let refusal = verdicts[index].refusal, verdicts[index].outcome == nil, record.correlationID != nil
            else { continue }
            var outcome = Outcome(.deadLettered, reason: refusal.reason.rawValue)
            try await add(to: &outcome, of: record)
            verdicts[index].outcome = outcome
        }
        return verdicts
    }

    private func add(to outcome: inout Outcome, of record: ConsumerRecord) async throws {
        guard let observation = try? Observation(record), let original = observation.originalTransactionID else {
            return
        }
        let environment = observation.environment.rawValue
        do {
            let owners = try await client.run(
                OwnerTable.user, (observation.environment, observation.bundleID, original))
            guard let user = owners.first else { return }
            let isLast = observation.source?.isLast ?? true
            outcome.add(user, holds: isLast ? try await held(by: user, in: environment) : nil)
        } catch let error as PostgresError where error.isRecordFault {
            // An identifier that PostgreSQL refuses in a query belongs to no known user.
        }
    }

    private func held(by user: Identifier, in environment: String) async throws -> HeldEntitlements? {
        HeldEntitlements.byUser(try await client.run(HeldEntitlements.read, [user]))[user]?.filtered(by: environment)
    }
}
