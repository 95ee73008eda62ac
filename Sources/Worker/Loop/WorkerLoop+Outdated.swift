import Synchronization

/// What a worker does when its program has become too old for its stage's database.
extension WorkerLoop {
    /// Whether it keeps out of the group, because others can do its work and it cannot.
    var isOutdated: Bool { outdatedBy.withLock { $0 != nil } }

    /// Whether nothing is to be begun: the worker is to stop, or is outdated.
    var mustRest: Bool { mustStop || isOutdated }

    /// Leaves the group where the error shows that the program is too old.
    func checkOutdated(by error: any Error) async {
        guard !isOutdated, await stage.isOutdated(by: error) else { return }
        let isNew = outdatedBy.withLock { outdatedBy in
            defer { outdatedBy = error }
            return outdatedBy == nil
        }
        guard isNew else { return }
        log.critical(
            "the database was migrated beyond this program, leaving the group: update this worker",
            ["error": .string(String(describing: error))]
        )
        leaveGroup()
    }

    /// Keeps out of the group for as long as the program is too old; not ready meanwhile.
    func restWhileOutdated() async {
        while !mustStop, let error = outdatedBy.withLock({ $0 }) {
            health.progressed()
            if await stage.isOutdated(by: error) {
                try? await Task.sleep(for: .seconds(1))
            } else {
                log.notice("the database fits this program again, joining the group")
                outdatedBy.withLock { $0 = nil }
            }
        }
    }
}
