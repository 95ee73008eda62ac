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
                try await upkeep.waitForOccasion()
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
    /// Nil where the stage has nothing to keep up.
    func startUpkeep() -> Task<Void, Never>? {
        guard let upkeep = stage.upkeep else { return nil }
        var service = UpkeepService(
            upkeep: upkeep,
            faults: faults,
            backoff: configuration.backoff,
            mustStop: { [weak self] in self?.mustRest ?? true },
            failed: { [weak self] error in await self?.checkOutdated(by: error) }
        )
        return Task { await service.run() }
    }

    /// Lets it finish what it is at, for a while.
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
