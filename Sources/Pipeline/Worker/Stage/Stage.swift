package import Kafka
package import Settings

/// The processing of records by a worker; the loop does everything else.
///
/// The loop calls `process` with one batch at a time, in order. It may call `process` while an earlier batch awaits
/// its acknowledgements. The loop also calls `acknowledged` with one batch at a time, in the same order, and possibly
/// at the same time as `process`.
package protocol Stage: Sendable {
    /// Outputs without an input record; empty for most stages.
    var outboxes: [any Outbox] { get }

    /// Work in the stage's database without an input record.
    ///
    /// `nil` for most stages.
    var upkeep: (any Upkeep)? { get }

    /// Maximum records that the stage currently accepts in one batch; the settings may set a lower limit.
    var recordsMax: Int { get }

    /// Checks the stage's dependency, such as its database; throws if it does not answer.
    ///
    /// The loop calls this at the start until it succeeds, and at intervals while the stage is idle.
    func probe() async throws

    /// Signs in to the stage's dependencies with the newest secrets, and uses these secrets from then on.
    ///
    /// - Throws: an error if a dependency refuses a secret; the former secrets stay in use.
    func signIn() async throws(SettingsError)

    /// Whether the error shows that this program is too old for a dependency, such as a migrated database: the loop
    /// then leaves the group to newer copies.
    func isOutdated(by error: any Error) async -> Bool

    /// Processes records; returns one verdict for each, in the same order.
    ///
    /// The stage may process only the first records if their outputs reach the limit; the loop passes the others again
    /// after delivery.
    ///
    /// An error means a fault of the infrastructure: the loop passes the records again after a delay, without those of
    /// revoked partitions. A fault of a record is a verdict.
    func process(_ records: [ConsumerRecord]) async throws -> [Verdict]

    /// Handles the acknowledgement of all outputs of these records; called before any of their offsets is committed.
    ///
    /// An error means a fault of the infrastructure: the loop calls again after a delay.
    func acknowledged(_ records: [ProcessedRecord]) async throws

    /// Handles the loss of batches in flight of these partitions, which will never be acknowledged.
    ///
    /// Their records may arrive again, at this worker or another. No record of these partitions is processed before
    /// this function returns.
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
