import Kafka
import Synchronization
import Telemetry

/// The work of a worker beside its records.
extension WorkerLoop {
    /// Time between two probes of an idle stage.
    private static let probeInterval = Duration.seconds(2)

    /// Probes the stage's database while no record uses it, so that readiness shows an outage before the next record.
    func probeWhileIdle() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.probeInterval)
            let last = lastAnswer.withLock { $0 }
            // While records fail, their own retries test the dependency.
            guard !Task.isCancelled, ContinuousClock.now - last >= Self.probeInterval,
                !hasBatches || Self.kindsOfBatches.allSatisfy({ !faults.isFailing($0) })
            else { continue }
            try? await faults.attempt(.probe) { try await stage.probe() }
        }
    }

    /// The faults that occur only while a batch is in flight.
    private static let kindsOfBatches: [FaultStep] = [.process, .acknowledge, .deliver]
}

/// The behaviour of a program that is too old for its stage's database.
extension WorkerLoop {
    /// Whether the worker stays out of the group, because it cannot process records and newer workers can.
    var isOutdated: Bool { outdatedBy.withLock { $0 != nil } }

    /// Whether the worker must start nothing new, because it must stop or is outdated.
    var mustRest: Bool { mustStop || isOutdated }

    /// Leaves the group if the error shows that the program is too old.
    func checkOutdated(by error: any Error) async {
        guard !isOutdated, await stage.isOutdated(by: error) else { return }
        let isNew = outdatedBy.withLock { outdatedBy in
            defer { outdatedBy = error }
            return outdatedBy == nil
        }
        guard isNew else { return }
        log.critical(
            "database schema too new, leaving the group: update this worker",
            ["error": .string(String(describing: error))])
        leaveGroup()
    }

    /// Stays out of the group, and not ready, while the program is too old.
    func restWhileOutdated() async {
        while !mustStop, let error = outdatedBy.withLock({ $0 }) {
            health.progressed()
            if await stage.isOutdated(by: error) {
                try? await Task.sleep(for: .seconds(1))
            } else {
                log.notice("database schema supported again, joining the group")
                outdatedBy.withLock { $0 = nil }
            }
        }
    }
}
