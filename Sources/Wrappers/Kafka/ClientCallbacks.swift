import CRDKafka
import Platform
import Synchronization

/// The state that librdkafka's callbacks of one client write, on any thread.
final class ClientCallbacks: Sendable {
    let handlers: KafkaHandlers
    /// The rebalance events since the last poll, in order.
    private let rebalances = Mutex<[RebalanceEvent]>([])
    /// Whether the group is balanced, from the statistics since the last poll.
    ///
    /// `nil` without statistics.
    private let balance = Mutex<Bool?>(nil)
    let commits = PendingCommits()
    /// Whether the client is being closed, so that no work can be finished.
    ///
    /// A closing client gives up revoked partitions at once, and sends no record again, because nobody would receive
    /// the delivery report.
    let isClosing = Atomic(false)
    /// Whether the consumer has asked to join its group.
    private let hasSubscribed = Atomic(false)
    /// Whether the client has had an assignment, even an empty one.
    private let hasBeenAssigned = Atomic(false)

    /// The failed authentication or handshake since the brokers' last answer.
    private let refusal = Mutex<KafkaError?>(nil)
    /// A known reason why these properties cannot work.
    private let warning: String?

    /// - Parameter warning: a text that is added to an error of authentication.
    init(handlers: KafkaHandlers, warning: String? = nil) {
        self.handlers = handlers
        self.warning = warning
    }

    /// Reports an error of the client's connections.
    func report(_ code: rd_kafka_resp_err_t, _ reason: String) {
        let words = [reason, code == RD_KAFKA_RESP_ERR__AUTHENTICATION ? warning : nil]
        let error = KafkaError(code, message: words.compactMap(\.self).joined(separator: "; "))
        if error.code == .unauthenticated || reason.includes("security.protocol") { refusal.withLock { $0 = error } }
        handlers.onError(error)
    }

    /// Clears the failed authentication or handshake after a broker has answered.
    func recordAnswer() { refusal.withLock { $0 = nil } }

    /// The failed authentication or handshake that explains a call's error, or the error itself.
    func explained(_ error: KafkaError) -> KafkaError {
        switch error.code {
        case .timedOut, .transport, .allBrokersDown: refusal.withLock { $0 } ?? error
        default: error
        }
    }

    /// Whether librdkafka would end the process if this client were destroyed.
    ///
    /// librdkafka before 2.3 does so for a group member that never had an assignment, for example a member that is
    /// closed during a rebalance (librdkafka issue 4312: `rd_kafka_sticky_assignor_state_destroy`).
    var mustNotBeDestroyed: Bool {
        rd_kafka_version() < 0x0203_0000 && hasSubscribed.load(ordering: .acquiring)
            && !hasBeenAssigned.load(ordering: .acquiring)
    }

    func recordSubscription() { hasSubscribed.store(true, ordering: .releasing) }

    /// Marks the consumer as having had an assignment; called with every assignment, on the consumer's thread.
    func recordAssignment() { hasBeenAssigned.store(true, ordering: .releasing) }

    /// Logs that a record is sent again because its offset is unknown.
    func logRepeated(_ message: UnsafePointer<rd_kafka_message_t>) {
        let topic = unsafe String(optionalCString: rd_kafka_topic_name(message.pointee.rkt))
        let line = unsafe KafkaLogLine(
            level: 4, facility: "NOOFFSET",
            message: "\(topic) [\(message.pointee.partition)]: a record was reported as written "
                + "without an offset, sending it again")
        handlers.onLog(line)
    }

    func record(_ event: RebalanceEvent) { rebalances.withLock { $0.append(event) } }

    func takeRebalances() -> [RebalanceEvent] {
        rebalances.withLock { events in
            guard !events.isEmpty else { return [] }
            defer { events = [] }
            return events
        }
    }

    /// Reads from librdkafka's statistics whether the group is balanced.
    ///
    /// The function searches the text and does not parse it: most of the text is about partitions, and the names of
    /// topics cannot contain a quotation mark.
    func record(statistics: String) {
        let isBalanced =
            statistics.includes(#""cgrp": { "state": "up""#) && statistics.includes(#""join_state": "steady""#)
        balance.withLock { $0 = isBalanced }
    }

    func takeBalance() -> Bool? {
        balance.withLock { balance in
            defer { balance = nil }
            return balance
        }
    }

    /// The object behind librdkafka's opaque pointer, which the client's owner keeps alive.
    static func behind(_ opaque: UnsafeMutableRawPointer?) -> ClientCallbacks? {
        guard let opaque = unsafe opaque else { return nil }
        return unsafe Unmanaged<ClientCallbacks>.fromOpaque(opaque).takeUnretainedValue()
    }
}

/// Receives a log line on librdkafka's threads, also during the creation of the client.
func clientLogged(client: OpaquePointer?, level: Int32, facility: UnsafePointer<CChar>?, message: UnsafePointer<CChar>?)
{
    guard let client = unsafe client, let callbacks = unsafe ClientCallbacks.behind(rd_kafka_opaque(client)) else {
        return
    }
    let line = unsafe KafkaLogLine(
        level: level, facility: String(optionalCString: facility), message: String(optionalCString: message))
    callbacks.handlers.onLog(line)
}

func clientFailed(client: OpaquePointer?, code: Int32, reason: UnsafePointer<CChar>?, opaque: UnsafeMutableRawPointer?)
{
    guard let callbacks = unsafe ClientCallbacks.behind(opaque) else { return }
    callbacks.report(rd_kafka_resp_err_t(code), unsafe String(optionalCString: reason))
}

/// Receives statistics; the result zero makes librdkafka free the text.
func clientStatistics(
    client: OpaquePointer?, json: UnsafeMutablePointer<CChar>?, bytes: Int, opaque: UnsafeMutableRawPointer?
) -> Int32 {
    if let callbacks = unsafe ClientCallbacks.behind(opaque) {
        unsafe callbacks.record(statistics: String(optionalCString: json))
    }
    return 0
}

/// Receives a rebalance event within `rd_kafka_consumer_poll` or during closing, on the consumer's thread.
///
/// An assignment and an ordinary revocation are answered later: librdkafka waits for the answer. Lost partitions are
/// released here, because no work on them can be finished.
func consumerRebalanced(
    client: OpaquePointer?, code: rd_kafka_resp_err_t,
    partitions: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?, opaque: UnsafeMutableRawPointer?
) {
    guard let callbacks = unsafe ClientCallbacks.behind(opaque) else { return }
    let named = unsafe PartitionList.elements(of: partitions).map(\.topicPartition)
    let isClosing = callbacks.isClosing.load(ordering: .acquiring)
    if code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS { callbacks.recordAssignment() }
    switch code {
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS where !isClosing: callbacks.record(.assigned(named))
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS: unsafe discard(rd_kafka_incremental_assign(client, partitions))
    case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
        if unsafe isClosing || rd_kafka_assignment_lost(client) != 0 {
            unsafe discard(rd_kafka_incremental_unassign(client, partitions))
            callbacks.record(.lost(named))
        } else {
            callbacks.record(.revoking(named))
        }
    default:
        // librdkafka requires this call after any other error, to restore its state.
        _ = unsafe rd_kafka_assign(client, nil)
        callbacks.record(.lost(named))
        callbacks.handlers.onError(KafkaError(code))
    }
}

/// Frees an error that has no consequence, for example about partitions that are already revoked.
func discard(_ error: OpaquePointer?) { if let error = unsafe error { unsafe rd_kafka_error_destroy(error) } }

/// Receives an event on librdkafka's background thread, and frees the event.
func consumerBackgroundEvent(client: OpaquePointer?, event: OpaquePointer?, opaque: UnsafeMutableRawPointer?) {
    defer { unsafe rd_kafka_event_destroy(event) }
    guard unsafe rd_kafka_event_type(event) == RD_KAFKA_EVENT_OFFSET_COMMIT,
        let callbacks = unsafe ClientCallbacks.behind(opaque)
    else { return }
    let number = unsafe Int(bitPattern: rd_kafka_event_opaque(event))
    let elements = unsafe PartitionList.elements(of: rd_kafka_event_topic_partition_list(event))
    let code = unsafe rd_kafka_event_error(event)
    let error = code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : KafkaError(code)
    callbacks.commits.resolve(number, with: CommitOutcome(error: error, elements: elements))
}

/// Receives the delivery report of a record that `rd_kafka_produceva` took, on the producer's thread.
///
/// librdkafka has up to five requests of a partition in flight. A broker may refuse the first request of a producer
/// that the broker does not know yet, and accept the second. librdkafka then reports the refused records as written,
/// because later records were written. A record without an offset is therefore sent again, once: a duplicate is
/// harmless, a loss is not.
func producerDelivered(
    client: OpaquePointer?, message: UnsafePointer<rd_kafka_message_t>?, opaque: UnsafeMutableRawPointer?
) {
    guard let client = unsafe client, let message = unsafe message, let ticket = unsafe message.pointee._private else {
        return
    }
    let code = unsafe message.pointee.err
    let offset = unsafe message.pointee.offset
    var error = code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : KafkaError(code)
    if error == nil, offset < 0 {
        error = .withoutOffset
        if let callbacks = unsafe ClientCallbacks.behind(opaque), !callbacks.isClosing.load(ordering: .acquiring),
            unsafe DeliveryTickets.mayRepeat(ticket)
        {
            unsafe callbacks.logRepeated(message)
            error = unsafe ClientHandle.produceAgain(client, message)
            // A later report covers the repeated record.
            if error == nil { return }
        }
    }
    let (delivery, index) = unsafe DeliveryTickets.redeem(ticket)
    delivery.settle(index, offset: error == nil ? offset : -1, error: error)
}

/// Handlers of a client's events that belong to no call.
///
/// librdkafka calls the handlers on its own threads, so they must return at once.
package struct KafkaHandlers: Sendable {
    package var onLog: @Sendable (KafkaLogLine) -> Void
    package var onError: @Sendable (KafkaError) -> Void

    package init(
        onLog: @escaping @Sendable (KafkaLogLine) -> Void = { _ in },
        onError: @escaping @Sendable (KafkaError) -> Void = { _ in }
    ) {
        self.onLog = onLog
        self.onError = onError
    }
}

/// A line that librdkafka logs.
package struct KafkaLogLine: Sendable {
    /// The level as in syslog: 3 is an error, 4 a warning, 6 information, 7 debugging.
    package let level: Int32
    /// librdkafka's name for the kind of event, such as `FAIL` or `REQTMOUT`.
    package let facility: String
    package let message: String
}
