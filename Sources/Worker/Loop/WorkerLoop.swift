package import DeadLetters
package import Kafka
import Synchronization

/// The one loop of all workers: poll, process, deliver, await, commit.
///
/// An offset is committed only after every output of every record below it is acknowledged. Faults
/// of the infrastructure are waited out, with the partitions paused, readiness false and the group
/// membership kept; only a record's own fault makes a dead letter.
package final class WorkerLoop: Sendable {
    let stage: any Stage
    let configuration: WorkerConfiguration
    let deadLetters: @Sendable (_ cluster: String) -> any DeadLetterWriting
    let health: Health
    let log: Log
    let metrics: WorkerMetrics
    let faults: Faults
    let deliverer: Deliverer
    /// Nil for stages that need none.
    let breaker: Mutex<Breaker>?
    private let isStopping = Atomic(false)
    private let session = Mutex<ConsumerSession?>(nil)

    /// Makes the producer; no connection is waited for.
    ///
    /// - Parameter deadLetters: makes the letters of a cluster, by the ID that its brokers give.
    package init(
        stage: any Stage,
        configuration: WorkerConfiguration,
        deadLetters: @escaping @Sendable (_ cluster: String) -> any DeadLetterWriting,
        breaker: Breaker? = nil,
        health: Health,
        metrics: MetricsRegistry,
        log: Log
    ) throws(KafkaError) {
        self.stage = stage
        self.configuration = configuration
        self.deadLetters = deadLetters
        self.breaker = breaker.map { Mutex($0) }
        self.health = health
        self.log = log
        self.metrics = WorkerMetrics(metrics)
        faults = Faults(log: log, health: health, metrics: self.metrics)
        deliverer = try Deliverer(
            properties: configuration.producerProperties,
            handlers: KafkaLogging.handlers(log, client: "producer") { _ in },
            log: log
        )
        if breaker != nil { health.ready(.breaker) }
    }

    /// Runs until `stop()`, then finishes what is in hand within the budget and leaves the group.
    ///
    /// Throws only for properties that librdkafka does not take, before anything is read.
    package func run() async throws(KafkaError) {
        await waitForStage()
        guard let cluster = try await waitForCluster() else { return }
        let checking = Task { await checkTopics() }
        defer { checking.cancel() }
        var backoff = configuration.backoff
        while !mustStop {
            let session = try ConsumerSession(self, deadLetters(cluster))
            self.session.withLock { $0 = session }
            if mustStop { session.stop() }
            let error = await session.run()
            self.session.withLock { $0 = nil }
            if let error, !mustStop {
                faults.failed(.connection, error)
                try? await Task.sleep(for: backoff.nextDelay())
            }
        }
        await deliverer.close(deadline: configuration.closeDeadline)
    }

    /// Ends `run()` in good order.
    ///
    /// From any thread, also more than once.
    package func stop() {
        isStopping.store(true, ordering: .releasing)
        session.withLock { $0 }?.stop()
    }

    var mustStop: Bool { isStopping.load(ordering: .acquiring) }

    /// The stage's database may come later than the worker: it is waited for.
    private func waitForStage() async {
        var backoff = configuration.backoff
        while !mustStop {
            health.progressed()
            do {
                try await stage.probe()
                faults.succeeded(.probe)
                return
            } catch {
                faults.failed(.probe, error)
                try? await Task.sleep(for: min(backoff.nextDelay(), .seconds(2)))
            }
        }
    }

    /// The brokers may come later too; nil when the worker is to stop before.
    private func waitForCluster() async throws(KafkaError) -> String? {
        let admin = try KafkaAdmin(configuration: configuration.producerProperties)
        var found: String?
        while !mustStop, found == nil {
            health.progressed()
            do {
                found = try await admin.clusterID(deadline: .seconds(2))
                faults.succeeded(.connection)
            } catch {
                faults.failed(.connection, error)
            }
        }
        await admin.close()
        return found
    }
}
