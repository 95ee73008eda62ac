import CRDKafka
import Synchronization

/// Called within `rd_kafka_consumer_poll` or while closing, on the consumer's thread.
///
/// An assignment and an ordinary revocation are answered later, which librdkafka allows: it waits
/// for the call. Lost partitions are let go here, because nothing about them can be finished.
func consumerRebalanced(
    client: OpaquePointer?,
    code: rd_kafka_resp_err_t,
    partitions: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?,
    opaque: UnsafeMutableRawPointer?
) {
    guard let callbacks = unsafe ClientCallbacks.behind(opaque) else { return }
    let named = unsafe PartitionList.elements(of: partitions).map(\.topicPartition)
    let isClosing = callbacks.isClosing.load(ordering: .acquiring)
    switch code {
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS where !isClosing:
        callbacks.record(.assigned(named))
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
        unsafe discard(rd_kafka_incremental_assign(client, partitions))
    case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
        if unsafe isClosing || rd_kafka_assignment_lost(client) != 0 {
            unsafe discard(rd_kafka_incremental_unassign(client, partitions))
            callbacks.record(.lost(named))
        } else {
            callbacks.record(.revoking(named))
        }
    default:
        // librdkafka asks for this call to bring its state in order after any other error.
        _ = unsafe rd_kafka_assign(client, nil)
        callbacks.record(.lost(named))
        callbacks.handlers.onError(KafkaError(code))
    }
}

/// Frees an error that changes nothing: the partitions were gone already.
private func discard(_ error: OpaquePointer?) {
    if let error = unsafe error {
        unsafe rd_kafka_error_destroy(error)
    }
}

/// Called on librdkafka's background thread; frees the event.
func consumerBackgroundEvent(
    client: OpaquePointer?,
    event: OpaquePointer?,
    opaque: UnsafeMutableRawPointer?
) {
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
