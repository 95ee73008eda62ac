import CRDKafka

/// The failure of a call to Kafka.
///
/// Two errors with the same code are equal: the message is for people.
package struct KafkaError: Error, Sendable {
    package let code: Code
    /// librdkafka's name for the error; the set of names is bounded, so logs and metric labels may contain it.
    package let name: String
    package let message: String
    /// Whether the same call may succeed later, because the call itself was correct.
    package let isRetriable: Bool
    /// Whether the client is unusable and must be recreated.
    package let isFatal: Bool

    package init(code: Code, name: String, message: String, isRetriable: Bool = false, isFatal: Bool = false) {
        self.code = code
        self.name = name
        self.message = message
        self.isRetriable = isRetriable
        self.isFatal = isFatal
    }

    /// The errors that this product distinguishes.
    package enum Code: Hashable, Sendable {
        case transport, allBrokersDown, timedOut, messageTimedOut, waitingForCoordinator, leaderMoved
        case messageTooLarge, recordListTooLarge, invalidRecord, invalidTimestamp
        case unknownTopicOrPartition, topicAlreadyExists
        case illegalGeneration, unknownMember, rebalanceInProgress, fenced, assignmentLost
        case maxPollExceeded, offsetOutOfRange, noOffset, offsetMetadataTooLarge
        case unauthorized, unauthenticated
        case queueFull, purged, fatal, closed
        case withoutOffset
        case invalidArgument, invalidConfiguration, unsupported
        case other(Int32)
    }

    /// Whether the record itself is at fault: the broker will never accept it.
    ///
    /// The fault is certain only for a record that was sent alone, because the broker refuses whole batches. Every
    /// other fault is in the infrastructure, and the record is sent again.
    package var isRecordFault: Bool {
        switch code {
        case .messageTooLarge, .recordListTooLarge, .invalidRecord: true
        default: false
        }
    }

    /// Whether the commit came from a member whose assignment the group has replaced.
    ///
    /// A replaced assignment is normal when members join or leave; the partition's new owner repeats the work.
    package var isFencedCommit: Bool {
        switch code {
        case .illegalGeneration, .unknownMember, .fenced, .assignmentLost: true
        default: false
        }
    }

    package static func closed(_ what: String) -> KafkaError {
        KafkaError(code: .closed, name: "CLOSED", message: "the \(what) is closed")
    }

    /// A record was reported as written, but without its offset: the record may be lost.
    package static let withoutOffset = KafkaError(
        code: .withoutOffset, name: "NO_OFFSET", message: "the record was reported as written without an offset",
        isRetriable: true)

    package static func deadline(_ what: String) -> KafkaError {
        KafkaError(
            code: .timedOut, name: "DEADLINE", message: "\(what) did not end within its deadline", isRetriable: true)
    }
}

extension KafkaError: Equatable {
    package static func == (left: KafkaError, right: KafkaError) -> Bool { left.code == right.code }
}

extension KafkaError: CustomStringConvertible {
    package var description: String {
        let text = "\(name): \(message)"
        guard code == .unauthorized else { return text }
        return text + " (the principal that is signed in lacks this right: see 'pipeline grants')"
    }
}

extension KafkaError {
    /// Makes an error from librdkafka's or the broker's number.
    init(_ error: rd_kafka_resp_err_t, message: String? = nil, isFatal: Bool = false) {
        let code = Code(error)
        self.init(
            code: code, name: unsafe String(optionalCString: rd_kafka_err2name(error)),
            message: unsafe message ?? String(optionalCString: rd_kafka_err2str(error)),
            isRetriable: !isFatal && code.isRetriable, isFatal: isFatal || error == RD_KAFKA_RESP_ERR__FATAL)
    }

    /// Reads and frees `error`.
    init(takingOwnershipOf error: OpaquePointer) {
        let code = unsafe rd_kafka_error_code(error)
        let message = unsafe String(optionalCString: rd_kafka_error_string(error))
        let isFatal = unsafe rd_kafka_error_is_fatal(error) != 0
        unsafe rd_kafka_error_destroy(error)
        self.init(code, message: message, isFatal: isFatal)
    }
}

extension KafkaError.Code {
    init(_ error: rd_kafka_resp_err_t) { self = Self.known[error.rawValue] ?? .other(error.rawValue) }

    /// Codes by the numbers of librdkafka and of the brokers.
    private static let known: [Int32: Self] = [
        RD_KAFKA_RESP_ERR__TRANSPORT.rawValue: .transport, RD_KAFKA_RESP_ERR__RESOLVE.rawValue: .transport,
        RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN.rawValue: .allBrokersDown, RD_KAFKA_RESP_ERR__TIMED_OUT.rawValue: .timedOut,
        RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE.rawValue: .timedOut,
        RD_KAFKA_RESP_ERR__MSG_TIMED_OUT.rawValue: .messageTimedOut,
        RD_KAFKA_RESP_ERR__WAIT_COORD.rawValue: .waitingForCoordinator,
        RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC.rawValue: .unknownTopicOrPartition,
        RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION.rawValue: .unknownTopicOrPartition,
        RD_KAFKA_RESP_ERR__FENCED.rawValue: .fenced, RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST.rawValue: .assignmentLost,
        RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED.rawValue: .maxPollExceeded,
        RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET.rawValue: .offsetOutOfRange,
        RD_KAFKA_RESP_ERR__NO_OFFSET.rawValue: .noOffset, RD_KAFKA_RESP_ERR__AUTHENTICATION.rawValue: .unauthenticated,
        RD_KAFKA_RESP_ERR__SSL.rawValue: .unauthenticated, RD_KAFKA_RESP_ERR__QUEUE_FULL.rawValue: .queueFull,
        RD_KAFKA_RESP_ERR__PURGE_QUEUE.rawValue: .purged, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT.rawValue: .purged,
        RD_KAFKA_RESP_ERR__FATAL.rawValue: .fatal, RD_KAFKA_RESP_ERR__DESTROY.rawValue: .closed,
        RD_KAFKA_RESP_ERR__INVALID_ARG.rawValue: .invalidArgument,
        RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE.rawValue: .unsupported,
        RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE.rawValue: .offsetOutOfRange,
        RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART.rawValue: .unknownTopicOrPartition,
        RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT.rawValue: .timedOut,
        RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION.rawValue: .transport,
        RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE.rawValue: .waitingForCoordinator,
        RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS.rawValue: .waitingForCoordinator,
        RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE.rawValue: .leaderMoved,
        RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION.rawValue: .leaderMoved,
        RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH.rawValue: .leaderMoved,
        RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH.rawValue: .leaderMoved,
        RD_KAFKA_RESP_ERR_NOT_COORDINATOR.rawValue: .waitingForCoordinator,
        RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE.rawValue: .messageTooLarge,
        RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE.rawValue: .recordListTooLarge,
        RD_KAFKA_RESP_ERR_INVALID_RECORD.rawValue: .invalidRecord,
        RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP.rawValue: .invalidTimestamp,
        RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE.rawValue: .offsetMetadataTooLarge,
        RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION.rawValue: .illegalGeneration,
        RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID.rawValue: .unknownMember,
        RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS.rawValue: .rebalanceInProgress,
        RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID.rawValue: .fenced,
        RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS.rawValue: .topicAlreadyExists,
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED.rawValue: .unauthorized,
        RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED.rawValue: .unauthorized,
        RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED.rawValue: .unauthorized,
        RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED.rawValue: .unauthenticated,
        RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION.rawValue: .unsupported,
        RD_KAFKA_RESP_ERR_INVALID_CONFIG.rawValue: .invalidConfiguration,
    ]

    /// Whether the request reached a broker that is not, or not yet, responsible for it.
    var isAskedOfAnother: Bool { self == .waitingForCoordinator || self == .leaderMoved }

    /// Whether the same call may succeed later.
    ///
    /// An unknown error is retriable, so that an unforeseen error never drops a record.
    var isRetriable: Bool {
        switch self {
        case .messageTooLarge, .recordListTooLarge, .invalidRecord, .invalidArgument, .invalidConfiguration,
            .unsupported, .fatal, .closed, .topicAlreadyExists, .offsetMetadataTooLarge, .illegalGeneration,
            .unknownMember, .fenced, .assignmentLost:
            false
        default: true
        }
    }
}

extension String {
    /// Copies the text, which the caller still owns; empty for a null pointer.
    init(optionalCString pointer: UnsafePointer<CChar>?) {
        self = unsafe pointer.map { unsafe String(cString: $0) } ?? ""
    }
}

/// The texts that librdkafka writes into a caller's buffer.
enum ErrorText {
    private static let bytesMax = 512

    /// The text that `body` wrote, empty without one.
    static func written(_ body: (UnsafeMutablePointer<CChar>?, Int) -> Void) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytesMax) { buffer in
            unsafe buffer.initialize(repeating: 0)
            unsafe body(buffer.baseAddress, buffer.count)
            return unsafe String(optionalCString: buffer.baseAddress)
        }
    }
}
