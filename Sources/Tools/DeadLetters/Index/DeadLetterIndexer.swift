import Kafka
import Platform
package import Postgres
import Settings
import Store
import Synchronization

/// Follows the dead-letter topic as a member of a consumer group, and keeps its index.
///
/// Reading begins after the rows in PostgreSQL, not at the group's commit: rows are written first,
/// so a crash between the two repeats nothing that counts. A record that is no dead letter is
/// counted, and so is one that PostgreSQL will never take. Faults of the servers are reported and
/// retried forever. Cancelling the task ends it in order: running writes are finished and
/// committed, and the group is left.
package final class DeadLetterIndexer: Sendable {
    package struct Settings: Sendable {
        package var group: String
        /// Maximum rows of one transaction.
        package var rowsMax = 5_000
        /// Maximum transactions at the same time, each of other partitions.
        package var writesMax = 2
        /// Maximum records read and not written yet; above it reading waits.
        package var bufferMax = 20_000
        package var retryDelayMax = Duration.seconds(30)
        /// Maximum wait for an answer of the servers on closing.
        package var closeDeadline = Duration.seconds(10)
    }

    /// Events for people or a log.
    package enum Event: Sendable {
        case assigned([Int32])
        /// How many offsets lie between the index and the end that is wanted.
        case ahead(Int64)
        /// Records that are written now, and how many of them are no dead letters.
        case indexed(records: Int, foreign: Int)
        /// A record that is no dead letter, or that PostgreSQL will never take.
        case passedOver(partition: Int32, offset: Int64, why: String)
        /// The dead-letter topic ends before the indexed offset: it was recreated.
        case madeAnew(partition: Int32)
        case retrying(what: String, error: String, delay: Duration)
        case recovered(what: String)
    }

    private let topic: DeadLetterTopic
    private let client: PostgresClient
    private let settings: Settings
    private let report: @Sendable (Event) -> Void
    /// Whether the consumer is to be recreated.
    private let isRenewing = Atomic(false)

    package init(
        _ topic: DeadLetterTopic,
        client: PostgresClient,
        settings: Settings,
        report: @escaping @Sendable (Event) -> Void
    ) {
        self.topic = topic
        self.client = client
        self.settings = settings
        self.report = report
    }

    /// Indexes until the task is cancelled, or until everything stored at the beginning is indexed.
    ///
    /// - Throws: `CancellationError` if it is cancelled before such an end, and faults that no
    ///   retry solves: wrong settings, a schema that does not fit, another topic's rows in the
    ///   table.
    package func run(untilEnd: Bool) async throws {
        do {
            try await index(untilEnd: untilEnd)
        } catch is CancellationError where !untilEnd {
            // Without an end, only a cancellation ends it.
        }
    }

    private func index(untilEnd: Bool) async throws {
        try await requireOwnTopic()
        let ends =
            untilEnd
            ? try await retrying("Kafka or PostgreSQL") { try await self.ends() } : nil
        guard ends.map({ !$0.isEmpty }) ?? true else { return }
        // Fails for properties that no client accepts.
        var session = try session()
        while true {
            do {
                let isDone = try await closing {
                    await session.close()
                } after: {
                    try await session.run(until: ends) {
                        isRenewing.exchange(false, ordering: .acquiringAndReleasing)
                    }
                }
                if isDone { return }
            } catch let error as KafkaError {
                // The client is finished; the next one begins after the rows in PostgreSQL.
                await pause(after: error, what: "Kafka", attempt: 1)
            }
            session = try await sessionAgain()
        }
    }

    /// Recreates the consumer with the present certificates; from any thread.
    package func renewClient() {
        isRenewing.store(true, ordering: .releasing)
    }

    private func session() throws(KafkaError) -> IndexSession {
        try IndexSession(topic: topic, client: client, settings: settings, report: report)
    }

    /// Another session, as soon as one can be made.
    ///
    /// None can be made while a certificate and its key are being replaced.
    ///
    /// - Throws: `CancellationError`.
    private func sessionAgain() async throws -> IndexSession {
        var attempt = 0
        while true {
            try Task.checkCancellation()
            do {
                return try session()
            } catch {
                attempt += 1
                await pause(after: error, what: "Kafka", attempt: attempt)
            }
        }
    }

    /// The present ends of the partitions that hold records; the index of a partition that ends
    /// before its rows begins again.
    private func ends() async throws -> [Int32: Int64] {
        let marks = try await topic.watermarks()
        var next: [Int32: Int64] = [:]
        for held in try await DeadLetterIndexTable.progress(on: client) {
            guard let high = marks[held.partition]?.high, held.nextOffset > high else {
                next[held.partition] = held.nextOffset
                continue
            }
            var start = held
            start.nextOffset = 0
            try await DeadLetterIndexTable.set([start], on: client)
            report(.madeAnew(partition: held.partition))
        }
        report(.ahead(marks.count(from: next)))
        return marks.compactMapValues { $0.low < $0.high ? $0.high : nil }
    }

    private func requireOwnTopic() async throws {
        let progress = try await retrying("PostgreSQL") {
            try await DeadLetterIndexTable.progress(on: self.client)
        }
        try Self.require(topic, progress)
    }

    /// Throws if the index is that of another topic.
    static func require(
        _ topic: DeadLetterTopic,
        _ progress: [DeadLetterIndexTable.Progress]
    ) throws(CommandError) {
        guard let other = progress.first(where: { $0.topic != topic.name }) else { return }
        throw CommandError(
            ExitCode.configuration,
            "the database holds the index of \(other.topic), not of \(topic.name): use a "
                + "database or schema of its own for each (database.schema)"
        )
    }

    private func retrying<T>(_ what: String, _ body: () async throws -> T) async throws -> T {
        try await Retrying(what: what, delayMax: settings.retryDelayMax, report: report).run(body)
    }

    private func pause(after error: any Error, what: String, attempt: Int) async {
        let delay = Retrying.delay(attempt: attempt, max: settings.retryDelayMax)
        report(.retrying(what: what, error: "\(error)", delay: delay))
        try? await Task.sleep(for: delay)
    }
}

extension [DeadLetterIndexTable.Progress] {
    /// The next offset to index of each partition of a topic.
    func nextOffsets(of topic: String) -> [Int32: Int64] {
        let held = filter { $0.topic == topic }.map { ($0.partition, $0.nextOffset) }
        return Dictionary(held, uniquingKeysWith: Swift.max)
    }
}

extension [Int32: Watermarks] {
    /// How many offsets the partitions hold from these on.
    func count(from next: [Int32: Int64]) -> Int64 {
        reduce(0) { count, mark in
            count + Swift.max(0, mark.value.high - Swift.max(mark.value.low, next[mark.key] ?? 0))
        }
    }
}

/// Retries until the servers answer.
struct Retrying: Sendable {
    let what: String
    let delayMax: Duration
    let report: @Sendable (DeadLetterIndexer.Event) -> Void

    /// A second, doubled each time, less up to a quarter so that many do not come at once.
    static func delay(attempt: Int, max: Duration) -> Duration {
        let full = min(.seconds(1 << min(attempt - 1, 16)), max)
        return full * Double.random(in: 0.75...1)
    }

    /// - Throws: `CancellationError`, and faults that no retry solves.
    func run<T>(_ body: () async throws -> T) async throws -> T {
        var attempt = 0
        while true {
            do {
                let value = try await body()
                if attempt > 0 { report(.recovered(what: what)) }
                return value
            } catch {
                guard Self.isInfrastructure(error) else { throw error }
                attempt += 1
                let delay = Self.delay(attempt: attempt, max: delayMax)
                report(.retrying(what: what, error: "\(error)", delay: delay))
                try await Task.sleep(for: delay)
            }
        }
    }

    private static func isInfrastructure(_ error: any Error) -> Bool {
        switch error {
        case let error as PostgresError: error.isRetriable
        case let error as KafkaError: error.isRetriable
        case let error as DeadLetterTopicError: error.code != .configuration
        default: false
        }
    }
}
