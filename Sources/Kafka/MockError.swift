/// The errors that a mock cluster can answer with, by their number.
package enum MockError: Int32, Sendable {
    /// Closes the connection instead of answering.
    case disconnect = -195
    case unknownTopicOrPartition = 3
    case leaderNotAvailable = 5
    case notLeaderForPartition = 6
    case requestTimedOut = 7
    case messageTooLarge = 10
    case notEnoughReplicas = 19
    case illegalGeneration = 22
    case unknownMember = 25
    case rebalanceInProgress = 27
    case groupAuthorizationFailed = 30
    case clusterAuthorizationFailed = 31
    case outOfOrderSequence = 45
}
