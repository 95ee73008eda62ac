import Kafka
import Telemetry

/// Gives a stage's outbox its occasions, for as long as the worker runs.
///
/// It writes with a producer of its own, in which a record that fails lets none behind it pass:
/// what is written again is always a continuation of what was.
struct OutboxService: Sendable {
    private let outbox: any Outbox
    private let configuration: WorkerConfiguration
    private let deliverer: Deliverer?
    private let faults: Faults
    private let written: Counter
    private let mustStop: @Sendable () -> Bool
    private let failed: @Sendable (any Error) async -> Void

    init(
        _ outbox: any Outbox,
        _ configuration: WorkerConfiguration,
        _ faults: Faults,
        metrics: WorkerMetrics,
        log: Log,
        mustStop: @escaping @Sendable () -> Bool,
        failed: @escaping @Sendable (any Error) async -> Void
    ) throws(KafkaError) {
        self.outbox = outbox
        self.configuration = configuration
        self.faults = faults
        self.mustStop = mustStop
        self.failed = failed
        written = metrics.outboxRecords[]
        guard outbox.writesRecords else {
            deliverer = nil
            return
        }
        deliverer = try Deliverer(
            properties: configuration.producerProperties.merging(Self.properties) { $1 },
            handlers: KafkaLogging.handlers(log, client: "outbox") { _ in },
            log: log
        )
    }

    private static let properties = [
        "enable.gapless.guarantee": "true",
        "message.timeout.ms": String(Int(OutboxLimits.deliveryMax / .milliseconds(1))),
        "queue.buffering.max.kbytes": "4096",
    ]

    /// Runs until the worker is to stop; a cancellation ends it at once.
    func run() async {
        var backoff = configuration.backoff
        while !mustStop(), !Task.isCancelled {
            do {
                try await outbox.waitForWork()
                try await outbox.empty { try await deliver($0) }
                faults.succeeded(.outbox)
                // Another copy has written the records that could not be written here.
                faults.succeeded(.publish)
                backoff.reset()
            } catch is UndeliveredRecord {
                await pause(&backoff)
            } catch {
                guard !Task.isCancelled else { break }
                faults.failed(.outbox, error)
                await failed(error)
                await pause(&backoff)
            }
        }
        await outbox.close()
        await deliverer?.close(deadline: .zero)
    }

    private func deliver(_ records: [ProducerRecord]) async throws {
        guard let deliverer else {
            preconditionFailure("an outbox that writes no records has written one")
        }
        let report = await deliverer.enqueue(records).report()
        if let first = report.failures.min(by: { $0.key < $1.key }) {
            let fault = UndeliveredRecord(records[first.key], first.value)
            faults.failed(.publish, fault)
            throw fault
        }
        faults.succeeded(.publish)
        written.increment(by: records.count)
    }

    /// Short steps, so that the end is noticed.
    private func pause(_ backoff: inout Backoff) async {
        let end = ContinuousClock.now + backoff.nextDelay()
        while ContinuousClock.now < end, !mustStop(), !Task.isCancelled {
            try? await Task.sleep(for: min(end - .now, .milliseconds(100)))
        }
    }
}

/// Gives a stage's upkeep its occasions, for as long as the worker runs.
struct UpkeepService: Sendable {
    let upkeep: any Upkeep
    let faults: Faults
    var backoff: Backoff
    let mustStop: @Sendable () -> Bool
    let failed: @Sendable (any Error) async -> Void

    /// Runs until the worker is to stop; a cancellation ends it at once.
    mutating func run() async {
        while !mustStop(), !Task.isCancelled {
            do {
                try await upkeep.waitForWork()
                try await upkeep.work()
                faults.succeeded(.upkeep)
                backoff.reset()
            } catch {
                guard !Task.isCancelled else { break }
                faults.failed(.upkeep, error)
                await failed(error)
                await pause()
            }
        }
        await upkeep.close()
    }

    /// Short steps, so that the end is noticed.
    private mutating func pause() async {
        let end = ContinuousClock.now + backoff.nextDelay()
        while ContinuousClock.now < end, !mustStop(), !Task.isCancelled {
            try? await Task.sleep(for: min(end - .now, .milliseconds(100)))
        }
    }
}

extension WorkerLoop {
    /// Nil if the stage has nothing to keep up.
    func startUpkeep() -> Task<Void, Never>? {
        guard let upkeep = stage.upkeep else { return nil }
        var service = UpkeepService(
            upkeep: upkeep,
            faults: faults,
            backoff: configuration.backoff,
            mustStop: { [weak self] in self?.mustPause ?? true },
            failed: { [weak self] error in await self?.checkOutdated(by: error) }
        )
        return Task { await service.run() }
    }

    /// Waits until the upkeep has finished, and cancels it after `closeDeadline`.
    func end(upkeep: Task<Void, Never>?) async {
        guard let upkeep else { return }
        let timer = Task { [configuration] in
            try await Task.sleep(for: configuration.closeDeadline)
            upkeep.cancel()
        }
        await upkeep.value
        timer.cancel()
    }
}
