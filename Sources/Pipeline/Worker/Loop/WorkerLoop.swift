package import Kafka
import Records
import Synchronization
package import Telemetry

/// The loop of all workers: poll, process, deliver, await, commit.
///
/// An offset is committed only after every output of every record below it is acknowledged. During faults of the
/// infrastructure the loop waits, with the partitions paused, readiness false and the group membership kept; only a
/// record's own fault causes a dead letter.
package final class WorkerLoop: Sendable {
    let configuration: WorkerConfiguration
    let health: Health
    let log: Log
    let metrics: WorkerMetrics
    let faults: Faults
    let time = TimeAccount()
    let deliverer: Deliverer
    private let active: Mutex<ActiveStage>
    /// The stage of a reload before its first batch.
    private let nextStage = Mutex<ActiveStage?>(nil)
    private let isStopping = Atomic(false)
    /// Whether the clients must be recreated with replaced certificates.
    private let isRenewing = Atomic(false)
    private let session = Mutex<ConsumerSession?>(nil)
    let limits: OutputLimits
    /// The signal that a broker has refused a record for its size.
    let limitsSignal = Signal()
    /// Number of partitions of the dead-letter topic.
    ///
    /// `nil` until the brokers have answered; 0 if they do not know the topic, so that the producer's partitioner
    /// decides.
    let letterPartitions = Mutex<Int?>(nil)
    /// The error that proved the program to be too old.
    ///
    /// `nil` unless the program is too old.
    let outdatedBy = Mutex<(any Error)?>(nil)
    /// Instant of the stage's last answer.
    let lastAnswer = Mutex(ContinuousClock.now)

    /// Creates the producer without waiting for a connection.
    ///
    /// - Parameter limits: the limits that the stage also checks; `nil` if it checks none.
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
    /// Throws only for properties that librdkafka does not accept, before the first wait.
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

    /// Runs one consumer after the other, until the worker must stop or has become outdated.
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
                    // The consumer has worked since the last error, so this is a new fault.
                    backoff.reset()
                }
                try? await Task.sleep(for: backoff.nextDelay())
            }
        }
    }

    /// Ends `run()` in an orderly way.
    ///
    /// Any thread may call this, also repeatedly.
    package func stop() {
        isStopping.store(true, ordering: .releasing)
        session.withLock { $0 }?.stop()
    }

    /// Recreates every Kafka client with the current certificates, after batches in flight are finished and committed.
    ///
    /// A static member (`kafka.instance_id`) keeps its membership and its partitions; any other member leaves and
    /// joins again. Any thread may call this.
    func renewClients() {
        isRenewing.store(true, ordering: .releasing)
        session.withLock { $0 }?.stop()
    }

    /// Whether sessions and outboxes must end: permanently, temporarily, or to reconnect.
    var mustPause: Bool { mustRest || isRenewing.load(ordering: .acquiring) }

    /// Ends the current consumer, and with it the membership in the group.
    func leaveGroup() { session.withLock { $0 }?.core { $0.giveUp() } }

    /// The current stage, which a reload replaces.
    package var stage: any Stage { active.withLock { $0.stage } }

    func deadLetters(of cluster: String) -> any DeadLetterWriting { active.withLock { $0.deadLetters }(cluster) }

    /// Replaces the stage, and the breaker of its settings, from the next batch on.
    ///
    /// Batches of the former stage are delivered and committed, but `acknowledged` and `abandoned` are called on the
    /// new stage: only a stage that keeps no state about batches may be replaced. Any thread may call this.
    package func reload(_ next: ActiveStage) {
        nextStage.withLock { $0 = next }
        session.withLock { $0 }?.settingsChanged()
    }

    /// Applies the result of a reload.
    ///
    /// `nil` without a reload. The processing task calls this between two batches.
    func applyReload() -> ActiveStage? {
        let taken = nextStage.withLock { next in
            defer { next = nil }
            return next
        }
        if let taken { active.withLock { $0 = taken } }
        return taken
    }

    /// The breaker for the start of a session, in the state in which the previous session left it.
    ///
    /// `nil` for stages without a breaker.
    var breaker: Breaker? {
        get { active.withLock { $0.breaker } }
        set { active.withLock { $0.breaker = newValue } }
    }

    var hasBatches: Bool { session.withLock { $0 }.map { $0.core { $0.batchesInFlight > 0 } } ?? false }

    var mustStop: Bool { isStopping.load(ordering: .acquiring) }

    /// Waits for the stage's database, which may start later than the worker.
    private func waitForStage() async {
        _ = await repeating { try await faults.attempt(.probe) { try await stage.probe() } }
    }

    /// Waits for the brokers, which may start later than the worker.
    ///
    /// `nil` if the worker must stop first.
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

/// A stage in use with its dead letters and breaker, which a reload of the settings replaces together.
package struct ActiveStage: Sendable {
    let stage: any Stage
    /// A function that makes a cluster's dead-letter writer from the ID that the brokers report.
    let deadLetters: @Sendable (_ cluster: String) -> any DeadLetterWriting
    /// The breaker with its present state.
    ///
    /// `nil` for stages without a breaker.
    var breaker: Breaker?
}
