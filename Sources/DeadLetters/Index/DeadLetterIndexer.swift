import Kafka
package import Postgres
import Settings
import Store
import Synchronization

/// Follows the dead-letter topic as a member of a consumer group, and keeps its index.
///
/// Where reading begins is what PostgreSQL holds, not what the group has committed: both are
/// written in this order, so that a crash between them repeats nothing that counts. A record that
/// is no dead letter is counted, and so is one that PostgreSQL will never take. Faults of the
/// servers are reported and tried again, for ever; cancelling the task ends it in order: what is
/// being written is written and committed, and the group is left.
package final class DeadLetterIndexer: Sendable {
    package struct Settings: Sendable {
        package var group: String
        /// Rows of one transaction at most.
        package var rowsMax = 5_000
        /// Transactions at the same time, at most, each of other partitions.
        package var writesMax = 2
        /// Records that are read and not written yet, at most; reading waits above it.
        package var bufferMax = 20_000
        package var retryDelayMax = Duration.seconds(30)
        /// How long an answer of the servers is waited for where the end is wanted.
        package var closeDeadline = Duration.seconds(10)

        package init(group: String) {
            self.group = group
        }
    }

    /// What happens, for people or a log.
    package enum Event: Sendable {
        case assigned([Int32])
        /// Records that are written now, and those of them that are no dead letters.
        case indexed(records: Int, foreign: Int)
        /// A record that is no dead letter, or that PostgreSQL will never take.
        case passedOver(partition: Int32, offset: Int64, why: String)
        /// The dead-letter topic ends before what is indexed: it was made anew.
        case madeAnew(partition: Int32)
        case retrying(what: String, error: String, delay: Duration)
        case recovered(what: String)
    }

    private let topic: DeadLetterTopic
    private let client: PostgresClient
    private let settings: Settings
    private let report: @Sendable (Event) -> Void
    /// The consumer is to be made anew.
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

    /// Indexes until the task is cancelled, or until everything is indexed that was there at the
    /// beginning.
    ///
    /// - Throws: what no repetition mends: wrong settings, a schema that does not fit, another
    ///   topic's rows in the table.
    package func run(untilEnd: Bool) async throws {
        try await requireOwnTopic()
        let ends =
            untilEnd
            ? try await retrying("Kafka or PostgreSQL") { try await self.ends() } : nil
        guard ends.map({ !$0.isEmpty }) ?? true else { return }
        // Shows properties that no client can be made of.
        var next: IndexSession? = try session()
        while !Task.isCancelled, let session = next {
            do {
                let isDone = try await session.run(until: ends) {
                    isRenewing.exchange(false, ordering: .acquiringAndReleasing)
                }
                await session.close()
                if isDone { return }
            } catch let error as KafkaError {
                await session.close()
                // The client can do no more: the next one begins where PostgreSQL is.
                await pause(after: error, what: "Kafka", attempt: 1)
            } catch is CancellationError {
                await session.close()
                return
            } catch {
                await session.close()
                throw error
            }
            next = await sessionAgain()
        }
    }

    /// Has the consumer made anew, with the certificates that are there now.
    ///
    /// From any thread.
    package func renewClient() {
        isRenewing.store(true, ordering: .releasing)
    }

    private func session() throws(KafkaError) -> IndexSession {
        try IndexSession(topic: topic, client: client, settings: settings, report: report)
    }

    /// Another one, as soon as one can be made; nil where the task is cancelled.
    ///
    /// None can be made while a certificate and its key are just being replaced.
    private func sessionAgain() async -> IndexSession? {
        var attempt = 0
        while !Task.isCancelled {
            do {
                return try session()
            } catch {
                attempt += 1
                await pause(after: error, what: "Kafka", attempt: attempt)
            }
        }
        return nil
    }

    /// The present ends of the partitions that hold records; the index of those that end before it
    /// begins anew.
    private func ends() async throws -> [Int32: Int64] {
        let marks = try await topic.watermarks()
        for held in try await DeadLetterIndexTable.progress(on: client) {
            guard let high = marks[held.partition]?.high, held.nextOffset > high else { continue }
            var start = held
            start.nextOffset = 0
            try await DeadLetterIndexTable.set([start], on: client)
            report(.madeAnew(partition: held.partition))
        }
        return marks.compactMapValues { $0.low < $0.high ? $0.high : nil }
    }

    private func requireOwnTopic() async throws {
        let progress = try await retrying("PostgreSQL") {
            try await DeadLetterIndexTable.progress(on: self.client)
        }
        try Self.require(topic, progress)
    }

    /// Throws where what is indexed is another topic.
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

    private func retrying<T>(
        _ what: String,
        _ body: () async throws -> T
    ) async throws -> T {
        try await Retrying(
            what: what,
            delayMax: settings.retryDelayMax,
            report: report
        ).run(body)
    }

    private func pause(after error: any Error, what: String, attempt: Int) async {
        let delay = Retrying.delay(attempt: attempt, max: settings.retryDelayMax)
        report(.retrying(what: what, error: "\(error)", delay: delay))
        try? await Task.sleep(for: delay)
    }
}

/// Tries again what the servers may answer later.
struct Retrying: Sendable {
    let what: String
    let delayMax: Duration
    let report: @Sendable (DeadLetterIndexer.Event) -> Void

    /// A second, then twice as long each time, less up to a quarter so that many do not come at
    /// once.
    static func delay(attempt: Int, max: Duration) -> Duration {
        let full = min(.seconds(1 << min(attempt - 1, 16)), max)
        return full * Double.random(in: 0.75...1)
    }

    /// - Throws: `CancellationError`, and what no repetition mends.
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
