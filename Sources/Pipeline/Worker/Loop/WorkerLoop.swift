package import Kafka
import Records
import Synchronization
package import Telemetry

/// The one loop of all workers: poll, process, deliver, await, commit.
///
/// An offset is committed only after every output of every record below it is acknowledged. Faults
/// of the infrastructure are waited out, with the partitions paused, readiness false and the group
/// membership kept; only a record's own fault makes a dead letter.
package final class WorkerLoop: Sendable {
    let configuration: WorkerConfiguration
    let health: Health
    let log: Log
    let metrics: WorkerMetrics
    let faults: Faults
    let time = TimeAccount()
    let deliverer: Deliverer
    private let active: Mutex<ActiveStage>
    /// The stage of a reload that has not processed a batch yet.
    private let nextStage = Mutex<ActiveStage?>(nil)
    private let isStopping = Atomic(false)
    /// Whether the clients are to be recreated with replaced certificates.
    private let isRenewing = Atomic(false)
    private let session = Mutex<ConsumerSession?>(nil)
    let limits: OutputLimits
    /// Sent when a broker has refused a record for its size.
    let limitsSignal = Signal()
    /// The number of partitions of the dead-letter topic: nil until the brokers have answered, 0 if
    /// they know no such topic, and then the producer's partitioner decides.
    let letterPartitions = Mutex<Int?>(nil)
    /// The error that showed the program to be too old.
    ///
    /// `nil` while the program is not too old.
    let outdatedBy = Mutex<(any Error)?>(nil)
    /// Instant of the stage's last answer.
    let lastAnswer = Mutex(ContinuousClock.now)

    /// Makes the producer; no connection is waited for.
    ///
    /// - Parameter limits: those that the stage looks at too; nil if it looks at none.
    package init(
        _ active: ActiveStage, configuration: WorkerConfiguration, limits: OutputLimits? = nil, health: Health,
        metrics: MetricsRegistry, log: Log
    ) throws(KafkaError) {
        self.configuration = configuration
        self.limits = limits ?? OutputLimits(producerProperties: configuration.producerProperties)
        self.active = Mutex(active)
        self.health = health
        self.log = log
        self.metrics = WorkerMetrics(metrics, configuration.stage.dispositions)
        faults = Faults(
            log: log, health: health, metrics: self.metrics, dependency: configuration.dependency,
            outboxes: configuration.outboxDependency ?? configuration.dependency)
        deliverer = try Deliverer(
            properties: configuration.producerProperties,
            handlers: KafkaLogging.handlers(log, client: "producer") { _ in }, log: log)
        if active.breaker != nil { health.ready(.breaker) }
        time.declare(in: metrics)
        metrics.beforeExposition { [weak self] in self?.session.withLock { $0 }?.showLag() }
    }

    /// Runs until `stop()`, then finishes the batches in flight within the budget and leaves the
    /// group.
    ///
    /// Throws only for properties that librdkafka does not accept, before anything is waited for.
    package func run() async throws(KafkaError) {
        try checkConsumerProperties()
        await time.measure(.retry) { await waitForStage() }
        guard let cluster = await time.measure(.retry, { await waitForCluster() }) else { return }
        var checking = Task { await checkTopics() }
        let probing = Task { await probeWhileIdle() }
        defer {
            checking.cancel()
            limitsSignal.send()
            probing.cancel()
        }
        while !mustStop {
            if isRenewing.exchange(false, ordering: .acquiringAndReleasing) {
                checking.cancel()
                limitsSignal.send()
                await renewDeliverer()
                checking = Task { await checkTopics() }
            }
            let services = await startServices()
            await runSessions(cluster)
            await end(services)
            await restWhileOutdated()
        }
        await deliverer.close(deadline: configuration.closeDeadline)
    }

    /// Runs one consumer after the other, until the worker is to stop or has become outdated.
    private func runSessions(_ cluster: String) async {
        var backoff = configuration.backoff
        while !mustPause {
            let made = await makingClient { try ConsumerSession(self, cluster: cluster) }
            guard let session = made else { return }
            self.session.withLock { $0 = session }
            if mustPause { session.stop() }
            let start = ContinuousClock.now
            let error = await session.run()
            self.session.withLock { $0 = nil }
            if let error, !mustPause {
                faults.failed(.connection, error)
                if ContinuousClock.now - start > configuration.backoff.delayMax {
                    // It has worked in between: this is another fault, not the same one again.
                    backoff.reset()
                }
                try? await Task.sleep(for: backoff.nextDelay())
            }
        }
    }

    /// Ends `run()` in good order.
    ///
    /// Any thread may call this, also more than once.
    package func stop() {
        isStopping.store(true, ordering: .releasing)
        session.withLock { $0 }?.stop()
    }

    /// Recreates every client to Kafka with the present certificates, after batches in flight are
    /// finished and committed.
    ///
    /// A static member (`kafka.instance_id`) keeps its membership and its partitions, another one
    /// leaves and joins again. From any thread.
    func renewClients() {
        isRenewing.store(true, ordering: .releasing)
        session.withLock { $0 }?.stop()
    }

    /// Whether sessions and outboxes are to end: for good, for a while, or to reconnect.
    var mustPause: Bool { mustRest || isRenewing.load(ordering: .acquiring) }

    /// Ends the present consumer, and with it the membership in the group.
    func leaveGroup() { session.withLock { $0 }?.core { $0.giveUp() } }

    /// The stage in use; another one after a reload.
    package var stage: any Stage { active.withLock { $0.stage } }

    func deadLetters(of cluster: String) -> any DeadLetterWriting { active.withLock { $0.deadLetters }(cluster) }

    /// Processes records by another stage from the next batch on, with the breaker of its settings.
    ///
    /// Batches of the former stage are delivered and committed, but `acknowledged` and `abandoned`
    /// are called on the new one: only a stage that does not remember batches may be replaced. From
    /// any thread.
    package func reload(_ next: ActiveStage) {
        nextStage.withLock { $0 = next }
        session.withLock { $0 }?.settingsChanged()
    }

    /// Applies the result of a reload.
    ///
    /// `nil` without one. The processing task calls this between two batches.
    func applyReload() -> ActiveStage? {
        let taken = nextStage.withLock { next in
            defer { next = nil }
            return next
        }
        if let taken { active.withLock { $0 = taken } }
        return taken
    }

    /// The breaker with which a session begins, and as the one before has left it; nil for stages
    /// that need none.
    var breaker: Breaker? {
        get { active.withLock { $0.breaker } }
        set { active.withLock { $0.breaker = newValue } }
    }

    var hasBatches: Bool { session.withLock { $0 }.map { $0.core { $0.batchesInFlight > 0 } } ?? false }

    var mustStop: Bool { isStopping.load(ordering: .acquiring) }

    /// The stage's database may come later than the worker: it is waited for.
    private func waitForStage() async {
        _ = await repeating { try await faults.attempt(.probe) { try await stage.probe() } }
    }

    /// The brokers may come later too; nil when the worker is to stop before.
    private func waitForCluster() async -> String? {
        var admin: KafkaAdmin?
        var found: String?
        while !mustStop, found == nil {
            health.progressed()
            if isRenewing.load(ordering: .acquiring) {
                await admin?.close()
                admin = nil
            }
            if admin == nil {
                admin = await makingClient { try KafkaAdmin(configuration: configuration.producerProperties) }
            }
            guard let admin else { return nil }
            found = try? await faults.attempt(.connection) { try await admin.clusterID(deadline: .seconds(2)) }
        }
        await admin?.close()
        return found
    }
}

/// The stage in use with its dead letters and breaker: all that a reload of the settings replaces.
package struct ActiveStage: Sendable {
    let stage: any Stage
    /// Makes the letters of a cluster, by the ID that its brokers give.
    let deadLetters: @Sendable (_ cluster: String) -> any DeadLetterWriting
    /// The breaker, with what it has seen so far.
    ///
    /// `nil` for stages that need none.
    var breaker: Breaker?
}
