import Kafka
import Telemetry

/// An upkeep that empties a stage's outbox.
///
/// The outbox has its own producer, in which no record overtakes a failed record: the records written again continue
/// those that were written.
private struct OutboxUpkeep: Upkeep {
    private let outbox: any Outbox
    private let deliverer: Deliverer?
    private let faults: Faults
    private let written: Counter

    init(_ outbox: any Outbox, of loop: WorkerLoop) throws(KafkaError) {
        self.outbox = outbox
        faults = loop.faults
        written = loop.metrics.outboxRecords[]
        guard outbox.writesRecords else {
            deliverer = nil
            return
        }
        deliverer = try Deliverer(
            properties: loop.configuration.producerProperties.merging(Self.properties) { $1 },
            handlers: KafkaLogging.handlers(loop.log, client: "outbox") { _ in }, log: loop.log)
    }

    private static let properties = [
        "enable.gapless.guarantee": "true",
        "message.timeout.ms": String(Int(OutboxLimits.deliveryMax / .milliseconds(1))),
        "queue.buffering.max.kbytes": "4096",
    ]

    func waitForWork() async throws { try await outbox.waitForWork() }

    func work() async throws {
        try await outbox.empty { try await deliver($0) }
        // Another copy has written the records that this copy failed to write.
        if outbox.writesRecords { faults.dropped(.publish) }
    }

    private func deliver(_ records: [ProducerRecord]) async throws {
        guard let deliverer else { preconditionFailure("an outbox that writes no records has written one") }
        let report = await deliverer.enqueue(records).report()
        if let first = report.failures.min(by: { $0.key < $1.key }) {
            let fault = UndeliveredRecord(records[first.key], first.value)
            faults.failed(.publish, fault)
            throw fault
        }
        faults.answered(.publish, by: report)
        written.increment(by: records.count)
    }

    func close() async {
        await outbox.close()
        await deliverer?.close(deadline: .zero)
    }
}

/// The stage's outboxes and its upkeep, which run as long as the worker.
extension WorkerLoop {
    /// Starts the services, except outboxes that cannot start because the worker is stopping.
    func startServices() async -> [Task<Void, Never>] {
        var tasks: [Task<Void, Never>] = []
        for outbox in stage.outboxes {
            let made = await makingClient { try OutboxUpkeep(outbox, of: self) }
            guard let made else { break }
            // An answer to one outbox must not end the fault of the other.
            tasks.append(Task { await run(made, outbox.writesRecords ? .outbox : .events) })
        }
        if let upkeep = stage.upkeep { tasks.append(Task { await run(upkeep, .upkeep) }) }
        return tasks
    }

    /// Runs until the worker must pause; a cancellation ends the run at once.
    private func run(_ upkeep: any Upkeep, _ step: FaultStep) async {
        var backoff = configuration.backoff
        while !mustPause, !Task.isCancelled {
            do {
                try await faults.attempt(step) {
                    try await upkeep.waitForWork()
                    try await upkeep.work()
                }
                backoff.reset()
                continue
            } catch let fault as PartialFault {
                faults.failed(step, fault)
                continue
            } catch {
                guard !Task.isCancelled else { break }
                await checkOutdated(by: error)
            }
            await backoff.wait { mustPause || Task.isCancelled }
        }
        faults.dropped(step)
        await upkeep.close()
    }

    /// Waits until the services have finished, and cancels them after `closeDeadline`.
    func end(_ services: [Task<Void, Never>]) async {
        let timer = Task { [configuration] in
            try await Task.sleep(for: configuration.closeDeadline)
            services.forEach { $0.cancel() }
        }
        for service in services { await service.value }
        timer.cancel()
    }
}
