import AppStore
package import Kafka
package import Postgres
import Records
package import Settings
package import Store
package import Worker

/// A stage that works in PostgreSQL transactions.
package protocol DatabaseStage: Stage {
    var client: PostgresClient { get }
    /// Maximum records in one transaction.
    var size: TransactionSize { get }
}

extension DatabaseStage {
    package var recordsMax: Int { size.recordsMax }

    package func probe() async throws { try await SchemaVersion.require(client) }

    package func signIn() async throws(SettingsError) {
        do { try await client.signIn() } catch {
            let message = "no log-in by it has worked, the former one stays in use: \(error)"
            let setting = DatabaseSettings.password.declaration.name
            throw SettingsError(problems: [SettingProblem(setting: setting, message: message)])
        }
    }

    package func isOutdated(by error: any Error) async -> Bool { await SchemaVersion.isOutgrown(client, after: error) }

    /// Passes records to `body` in transactions.
    ///
    /// A record that PostgreSQL refuses by itself becomes a dead letter; after any other failure
    /// the record waits.
    package func isolating(
        _ records: ArraySlice<ConsumerRecord>, _ body: (ArraySlice<ConsumerRecord>) async throws -> [Verdict]
    ) async throws -> [Verdict] {
        try await RecordFaults.isolating(records, size: size, body) { record, error in
            .deadLettered(record, .notStorable, detail: error.recordFaultDetail)
        } held: { _, error in
            .held(by: error)
        }
    }

    /// Completes the answers for requests with a refused record.
    ///
    /// Throws `SchemaNewer` if the database did not accept a record and its schema is newer than
    /// this program: then the record did not cause the failure.
    package func completed(_ verdicts: [Verdict], of records: [ConsumerRecord]) async throws -> [Verdict] {
        if verdicts.contains(where: { $0.isNotStorable || $0.heldBy is UnstoredRecord }) {
            try await SchemaVersion.requireKnown(client)
        }
        return try await RefusalAnswers(client: client).complete(verdicts, of: records)
    }
}

extension UnstoredRecord: CausedFault { package var cause: FaultCause { error.cause } }
