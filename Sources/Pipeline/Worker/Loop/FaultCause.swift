import Kafka

/// The cause of a retried failure, in a word; also the label `cause` of the metric.
package enum FaultCause: String, Sendable, CaseIterable {
    /// No connection, or it broke.
    case unreachable
    /// No answer came in time.
    case timeout
    /// Another transaction or member of the group was in the way.
    case contention
    /// The server answered, and refuses because a right, a table or a topic is missing.
    case refused
    /// Too much was asked for at once: no connection free, a full queue.
    case overloaded
    case other
}

/// An error with a cause.
package protocol CausedFault: Error {
    var cause: FaultCause { get }
    /// The dependency that failed; nil if only the step shows it.
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
