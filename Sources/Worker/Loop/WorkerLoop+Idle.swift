import Kafka
import Synchronization

/// What a worker does besides its records.
extension WorkerLoop {
    /// Between two probes of a stage that nothing else asks.
    private static let probeInterval = Duration.seconds(2)

    /// Asks the stage's database while no record does, so that readiness tells of an outage before
    /// the next record meets it.
    func probeWhileIdle() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.probeInterval)
            let last = lastAnswer.withLock { $0 }
            // While records are refused, their own repetition is the question.
            guard !Task.isCancelled, ContinuousClock.now - last >= Self.probeInterval,
                !faults.isFailing(.process), !faults.isFailing(.acknowledge)
            else { continue }
            do {
                try await stage.probe()
                faults.succeeded(.probe)
            } catch {
                guard !Task.isCancelled else { return }
                faults.failed(.probe, error)
            }
        }
    }

    func startOutboxes() throws(KafkaError) -> [Task<Void, Never>] {
        var tasks: [Task<Void, Never>] = []
        for outbox in stage.outboxes {
            let service = try OutboxService(outbox, configuration, faults, metrics, log) {
                [weak self] in self?.mustStop ?? true
            }
            tasks.append(Task { await service.run() })
        }
        return tasks
    }

    /// Lets the outboxes finish what they are at, for a while.
    func end(_ outboxes: [Task<Void, Never>]) async {
        guard !outboxes.isEmpty else { return }
        let timer = Task { [configuration] in
            try await Task.sleep(for: configuration.closeDeadline)
            outboxes.forEach { $0.cancel() }
        }
        for outbox in outboxes {
            await outbox.value
        }
        timer.cancel()
    }
}
