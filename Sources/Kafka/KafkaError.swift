/// Why a call to Kafka failed.
///
/// Two errors are equal when their codes are: the message is for people.
package struct KafkaError: Error, Sendable {
    package let code: Code
    /// librdkafka's name for the error, a bounded set: fit for logs and metric labels.
    package let name: String
    package let message: String
    /// The same call may succeed later: nothing about it was wrong.
    package let isRetriable: Bool
    /// The client can do no more and has to be made anew.
    package let isFatal: Bool

    package init(
        code: Code,
        name: String,
        message: String,
        isRetriable: Bool = false,
        isFatal: Bool = false
    ) {
        self.code = code
        self.name = name
        self.message = message
        self.isRetriable = isRetriable
        self.isFatal = isFatal
    }

    /// The errors that this product treats apart.
    package enum Code: Hashable, Sendable {
        case transport, allBrokersDown, timedOut, messageTimedOut, waitingForCoordinator,
            leaderMoved
        case messageTooLarge, recordListTooLarge, invalidRecord, invalidTimestamp
        case unknownTopicOrPartition, topicAlreadyExists
        case illegalGeneration, unknownMember, rebalanceInProgress, fenced, assignmentLost
        case maxPollExceeded, offsetOutOfRange, noOffset, offsetMetadataTooLarge
        case unauthorized, unauthenticated
        case queueFull, purged, fatal, closed
        case invalidArgument, invalidConfiguration, unsupported
        case other(Int32)
    }

    /// The record itself is at fault: the broker will not take it, however often it is sent.
    ///
    /// Sure only for a record that was sent alone, because the broker judges whole batches.
    /// Everything else is the infrastructure's fault and is retried.
    package var isRecordFault: Bool {
        switch code {
        case .messageTooLarge, .recordListTooLarge, .invalidRecord: true
        default: false
        }
    }

    /// The commit came from a member whose assignment the group has replaced: routine when members
    /// come and go, and the work is done again by whoever owns the partition.
    package var isFencedCommit: Bool {
        switch code {
        case .illegalGeneration, .unknownMember, .fenced, .assignmentLost: true
        default: false
        }
    }

    package static func closed(_ what: String) -> KafkaError {
        KafkaError(code: .closed, name: "CLOSED", message: "the \(what) is closed")
    }

    package static func deadline(_ what: String) -> KafkaError {
        KafkaError(
            code: .timedOut,
            name: "DEADLINE",
            message: "\(what) did not end within its deadline",
            isRetriable: true
        )
    }
}

extension KafkaError: Equatable {
    package static func == (left: KafkaError, right: KafkaError) -> Bool {
        left.code == right.code
    }
}

extension KafkaError: CustomStringConvertible {
    package var description: String { "\(name): \(message)" }
}
