import AppStore
import Holdings
import JSON
package import Kafka
package import Postgres
import Records
package import Store
import Topology
package import Worker

/// Reads the outcomes of recovered notifications; its outbox asks Apple for missing ones.
///
/// Records of `outcomes` come from the pipeline itself, so none is refused.
package final class RecoveryStage: DatabaseStage {
    package let outboxes: [any Outbox]
    package let client: PostgresClient
    package let size: TransactionSize

    init(_ outbox: RecoveryOutbox, client: PostgresClient) {
        outboxes = [outbox]
        self.client = client
        size = TransactionSize(statementDeadline: client.statementDeadline)
    }

    package func process(_ records: [ConsumerRecord]) async throws -> [Verdict] {
        var answers: [NotificationID: AppleNotificationTable.Outcome] = [:]
        var dispositions: [Disposition] = []
        for record in records {
            let id = record.key.flatMap { NotificationID(correlationID: $0) }
            dispositions.append(id == nil ? .others : .settled)
            guard let id, let outcome = AppleNotificationTable.Outcome(record) else { continue }
            if answers[id] != .deadLettered { answers[id] = outcome }
        }
        if !answers.isEmpty {
            _ = try await client.run(
                AppleNotificationTable.settle,
                answers.map { id, outcome in
                    (environment: id.environment, uuid: id.uuid, nonce: id.nonce, outcome: outcome)
                })
        }
        return dispositions.map { Verdict($0) }
    }
}

extension AppleNotificationTable.Outcome {
    /// Reads the status in a record of `outcomes`.
    ///
    /// `nil` if the record is no outcome.
    fileprivate init?(_ record: ConsumerRecord) {
        guard let value = record.value, let root = try? JSONDocument(parsing: value).root,
            let status = root["status"]?.string.flatMap(Outcome.Status.init(rawValue:))
        else { return nil }
        switch status {
        case .applied, .duplicate, .superseded, .unlinked, .recorded: self = .held
        case .ignored: self = .ignored
        case .deadLettered: self = .deadLettered
        }
    }
}
