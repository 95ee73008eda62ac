package import Kafka
package import Settings

/// The work of a worker on records; the loop does everything around it.
///
/// The loop calls `process` with one batch at a time and in order. It may call it while an earlier
/// batch awaits its acknowledgements; `acknowledged` is called with one batch at a time too, in the
/// same order, and may run beside `process`.
package protocol Stage: Sendable {
    /// Outputs that no record causes; empty for most stages.
    var outboxes: [any Outbox] { get }

    /// Work in the stage's database that no record causes; nil for most stages.
    var upkeep: (any Upkeep)? { get }

    /// The maximum of records that the stage accepts in one batch, as things are; the settings may
    /// say less.
    var recordsMax: Int { get }

    /// Checks the stage's dependency, such as its database; throws while that does not answer.
    ///
    /// Called at start until it succeeds, and at intervals while the stage is idle.
    func probe() async throws

    /// Signs in with the newest secrets of what the stage depends on, and uses them from then on.
    ///
    /// - Throws: while one of them is refused; the former ones stay in use.
    func signIn() async throws(SettingsError)

    /// Whether the error shows that this program is too old for what the stage depends on, such as
    /// a database that was migrated: then the loop leaves the group to newer copies.
    func isOutdated(by error: any Error) async -> Bool

    /// Processes records, one verdict each in the same order.
    ///
    /// It may process only the first ones if their outputs fill the bound; the others are given
    /// again after delivery.
    ///
    /// Throwing means a fault of the infrastructure: the records are given again after a delay,
    /// without those whose partition was revoked. A fault of a record is a verdict.
    func process(_ records: [ConsumerRecord]) async throws -> [Verdict]

    /// Called when all outputs of these records are acknowledged, before any offset is committed.
    ///
    /// Throwing means a fault of the infrastructure: it is called again after a while.
    func acknowledged(_ records: [ProcessedRecord]) async throws

    /// Called when batches in flight of these partitions will never be acknowledged: it may come
    /// again, to this worker or another. No record of theirs is processed before this returns.
    func abandoned(_ partitions: [TopicPartition]) async
}

extension Stage {
    package var outboxes: [any Outbox] { [] }
    package var upkeep: (any Upkeep)? { nil }
    package var recordsMax: Int { .max }
    package func probe() async throws {}
    package func signIn() async throws(SettingsError) {}
    package func isOutdated(by error: any Error) async -> Bool { false }
    package func acknowledged(_ records: [ProcessedRecord]) async throws {}
    package func abandoned(_ partitions: [TopicPartition]) async {}
}
