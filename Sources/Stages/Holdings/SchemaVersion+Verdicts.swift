package import Postgres
package import Store
package import Worker

extension SchemaVersion {
    /// Throws `SchemaNewer` if the database has not accepted a record and was migrated beyond the
    /// version that this program knows: then no record is to blame.
    package static func requireKnown(
        _ client: PostgresClient,
        after verdicts: [Verdict]
    ) async throws {
        let isRefused = verdicts.contains { $0.isNotStorable || $0.heldBy is UnstoredRecord }
        guard isRefused else { return }
        try await requireKnown(client)
    }
}

extension UnstoredRecord: CausedFault {
    package var cause: FaultCause { error.cause }
}
