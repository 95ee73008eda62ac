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

    func startOutbox() throws(KafkaError) -> Task<Void, Never>? {
        guard let outbox = stage.outbox else { return nil }
        let service = try OutboxService(outbox, configuration, faults, metrics, log) {
            [weak self] in self?.mustStop ?? true
        }
        return Task { await service.run() }
    }

    /// Lets the outbox finish what it is at, for a while.
    func end(_ outbox: Task<Void, Never>?) async {
        guard let outbox else { return }
        let timer = Task { [configuration] in
            try await Task.sleep(for: configuration.closeDeadline)
            outbox.cancel()
        }
        await outbox.value
        timer.cancel()
    }
}
