import TestSupport

/// A fault, the alerts that must fire by it, and its repair.
struct AlertFault: Sendable {
    typealias Step = @Sendable (MonitoringRig) async throws -> Void

    let name: String
    let alerts: Set<String>
    /// Brings the rig to a state in which none of the alerts fires.
    var prepare: Step = { _ in }
    let make: Step
    /// The step that ends the alerts.
    let mend: Step
    /// Brings the rig back to its former state after they have ended.
    var restore: Step = { _ in }

    static let all = servers + records + ownership + verifying + settings + accounts + recovery + [lostRecords]

    /// Waits until none of its alerts fires, makes the fault, waits until each has fired, repairs
    /// it, and waits until each has cleared.
    ///
    /// - Parameter deadline: of each wait.
    /// - Returns: the outcome of each alert in any case; a fault that could not be made or repaired
    ///   is the alerts' trouble.
    func outcomes(on rig: MonitoringRig, within deadline: Duration = .seconds(120)) async -> [AlertOutcome] {
        var outcomes = alerts.sorted().map { AlertOutcome($0, fault: name) }
        do {
            try await prepare(rig)
            try await waitUntilQuiet(rig, within: deadline)
            let made = ContinuousClock.now
            try await make(rig)
            _ = await becomesTrue(within: deadline, every: .milliseconds(250)) {
                let firing = rig.prometheus.firing() ?? []
                for index in outcomes.indices where firing.contains(outcomes[index].alert) {
                    outcomes[index].firedAfter = outcomes[index].firedAfter ?? .now - made
                }
                return outcomes.allSatisfy { $0.firedAfter != nil }
            }
            let mended = ContinuousClock.now
            try await mend(rig)
            _ = await becomesTrue(within: deadline, every: .milliseconds(250)) {
                // Without an answer nothing is known.
                guard let firing = rig.prometheus.firing() else { return false }
                for index in outcomes.indices where !firing.contains(outcomes[index].alert) {
                    outcomes[index].clearedAfter = outcomes[index].clearedAfter ?? .now - mended
                }
                return outcomes.allSatisfy { $0.clearedAfter != nil }
            }
            try await restore(rig)
        } catch { for index in outcomes.indices { outcomes[index].trouble = "\(error)" } }
        return outcomes
    }

    private func waitUntilQuiet(_ rig: MonitoringRig, within deadline: Duration) async throws {
        var firing: Set<String>?
        let isQuiet = await becomesTrue(within: deadline, every: .milliseconds(250)) {
            firing = rig.prometheus.firing()
            return firing?.isDisjoint(with: alerts) ?? false
        }
        guard !isQuiet else { return }
        guard let firing else { throw PipelineFailure("Prometheus does not answer") }
        let early = firing.intersection(alerts).sorted().joined(separator: ", ")
        throw PipelineFailure("fires before the fault is made: \(early)")
    }
}
