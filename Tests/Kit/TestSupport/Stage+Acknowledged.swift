package import Kafka
package import Worker

extension Stage {
    /// Acknowledges records with the verdicts that the stage gave.
    package func acknowledged(_ records: [ConsumerRecord], _ verdicts: [Verdict]) async throws {
        try await acknowledged(zip(records, verdicts).map { ProcessedRecord($0, $1) })
    }
}
