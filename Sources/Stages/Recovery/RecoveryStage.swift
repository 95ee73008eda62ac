import AppStore
import Holdings
import JSON
package import Kafka
package import Postgres
import Records
package import Store
import Topology
package import Worker

/// Reads what became of recovered notifications, while its outbox asks Apple for what is missing.
///
/// A record of `outcomes` is the pipeline's own, so it is never refused.
package final class RecoveryStage: DatabaseStage {
    package let outboxes: [any Outbox]
    package let client: PostgresClient
    package let size: TransactionSize
    /// The apps whose purchases are finished; empty unless they are to be.
    private let finished: Set<RecoveredApp>

    init(_ outbox: RecoveryOutbox, client: PostgresClient, finishing finished: Set<RecoveredApp>) {
        outboxes = [outbox]
        self.client = client
        self.finished = finished
        size = TransactionSize(statementDeadline: client.statementDeadline)
    }

    package func process(_ records: [ConsumerRecord]) async throws -> [Verdict] {
        var answers: [NotificationID: AppleNotificationTable.Outcome] = [:]
        var delivered: Set<RecoveryRequestTable.Request> = []
        var dispositions: [Disposition] = []
        for record in records {
            let id = record.key.flatMap { NotificationID(correlationID: $0) }
            dispositions.append(id == nil ? .others : .settled)
            guard id != nil || !finished.isEmpty, let answer = OutcomeAnswer(record) else {
                continue
            }
            if let id, answers[id] != .deadLettered { answers[id] = answer.outcome }
            if let request = answer.finishing, finished.contains(request.app) {
                delivered.insert(request)
            }
        }
        var pipeline = Pipeline()
        pipeline.add(
            AppleNotificationTable.settle,
            unlessEmpty: answers.map { id, outcome in
                (
                    environment: id.environment,
                    uuid: id.uuid,
                    outcome: outcome
                )
            }
        )
        pipeline.add(RecoveryRequestTable.add, unlessEmpty: Array(delivered))
        if !pipeline.isEmpty {
            _ = try await client.run(pipeline)
        }
        return dispositions.map { Verdict($0) }
    }
}

/// The part of an outcome that recovery uses.
struct OutcomeAnswer {
    let outcome: AppleNotificationTable.Outcome
    /// The purchase, if its row is committed.
    let finishing: RecoveryRequestTable.Request?

    /// Nil for a value that is no outcome.
    init?(_ record: ConsumerRecord) {
        guard let value = record.value, let root = try? JSONDocument(parsing: value).root,
            let status = root["status"]?.string.flatMap(Outcome.Status.init(rawValue:))
        else { return nil }
        switch status {
        case .applied, .duplicate, .superseded, .unlinked, .recorded: outcome = .held
        case .ignored: outcome = .ignored
        case .deadLettered: outcome = .deadLettered
        }
        guard status == .applied || status == .duplicate,
            let environment = root["environment"]?.string, let bundleID = root["bundleID"]?.string,
            let id = root["transactionID"]?.string, let subject = Identifier(entering: id)
        else {
            finishing = nil
            return
        }
        finishing = RecoveryRequestTable.Request(
            app: RecoveredApp(
                environment: Environment(rawValue: environment),
                bundleID: Identifier(bundleID)
            ),
            kind: .finish,
            subject: subject
        )
    }
}
