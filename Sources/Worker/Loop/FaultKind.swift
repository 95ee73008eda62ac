/// The steps at which the infrastructure can fail; also the label `step` of the faults' counter.
enum FaultKind: String, Sendable, CaseIterable {
    case probe, process, deliver, acknowledge, commit, offsets, connection, outbox, publish
    case upkeep

    /// What does not hold while it fails.
    ///
    /// - Parameter dependency: what the stage's own steps depend on.
    func condition(_ dependency: HealthCondition) -> HealthCondition {
        switch self {
        case .probe, .process, .acknowledge, .outbox, .upkeep: dependency
        case .deliver, .commit, .offsets, .connection, .publish: .broker
        }
    }
}
