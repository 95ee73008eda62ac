/// The steps at which the infrastructure can fail; also the label `step` of the faults' counter.
enum FaultKind: String, Sendable, CaseIterable {
    case probe, process, deliver, acknowledge, commit, offsets, connection

    /// What is not reachable while it fails.
    func condition(among conditions: [HealthCondition]) -> HealthCondition {
        switch self {
        case .probe, .process, .acknowledge: conditions.contains(.database) ? .database : .broker
        case .deliver, .commit, .offsets, .connection: .broker
        }
    }
}
