/// The steps at which the infrastructure can fail; also the label `step` of the faults' counter.
enum FaultKind: String, Sendable, CaseIterable {
    case probe, process, deliver, acknowledge, commit, offsets, connection, outbox, publish
    case upkeep

    /// What is not reachable while it fails.
    func condition(among conditions: [HealthCondition]) -> HealthCondition {
        switch self {
        case .process where conditions.contains(.revocation): .revocation
        case .probe, .process, .acknowledge, .outbox, .upkeep:
            conditions.contains(.database) ? .database : .broker
        case .deliver, .commit, .offsets, .connection, .publish: .broker
        }
    }
}
