import Kafka

/// The cause of a retried failure, in a word; also the label `cause` of the metric.
package enum FaultCause: String, Sendable, CaseIterable {
    /// There is no connection, or the connection broke.
    case unreachable
    /// No answer arrived in time.
    case timeout
    /// A conflict with another transaction or another member of the group.
    case contention
    /// The server answered, but refuses because a right, a table or a topic is missing.
    case refused
    /// The load is too high: no free connection, or a full queue.
    case overloaded
    case other
}

/// An error with a cause.
package protocol CausedFault: Error {
    var cause: FaultCause { get }
    /// The dependency that failed.
    ///
    /// `nil` if only the step determines it.
    var dependency: HealthCondition? { get }
}

extension CausedFault { package var dependency: HealthCondition? { nil } }

extension FaultCause { init(of error: any Error) { self = (error as? any CausedFault)?.cause ?? .other } }

extension KafkaError: CausedFault {
    package var cause: FaultCause {
        switch code {
        case .transport, .allBrokersDown, .leaderMoved, .waitingForCoordinator, .closed: .unreachable
        case .timedOut, .messageTimedOut, .maxPollExceeded: .timeout
        case .illegalGeneration, .unknownMember, .rebalanceInProgress, .fenced, .assignmentLost: .contention
        case .unauthorized, .unauthenticated, .unknownTopicOrPartition, .unsupported: .refused
        case .queueFull: .overloaded
        default: .other
        }
    }
}

extension UndeliveredRecord: CausedFault { package var cause: FaultCause { error.cause } }
