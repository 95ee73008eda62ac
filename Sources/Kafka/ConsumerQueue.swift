import CRDKafka
import Synchronization

/// The queue that a consumer polls, for what has to reach it past the polling.
@safe
final class ConsumerQueue: @unchecked Sendable {
    private let pointer: Mutex<OpaquePointer?>

    init(_ client: ClientHandle) {
        unsafe pointer = Mutex(rd_kafka_queue_get_consumer(client.pointer))
    }

    /// The records that wait in it, and what else has to be polled.
    var count: Int {
        unsafe pointer.withLock { pointer in
            guard let pointer = unsafe pointer else { return 0 }
            return unsafe rd_kafka_queue_length(pointer)
        }
    }

    /// Does nothing while the consumer is being closed, which is when the queue is held.
    func wake() {
        _ = unsafe pointer.withLockIfAvailable { pointer in
            if let pointer = unsafe pointer {
                unsafe rd_kafka_queue_yield(pointer)
            }
        }
    }

    /// Closes the consumer, serving its last rebalance, until it is done or the deadline has come.
    ///
    /// librdkafka waits for the answer to its last question, so that is given first.
    ///
    /// - Parameters:
    ///   - assigned: assigned and not yet taken.
    ///   - revoked: revoked and not yet given up.
    func close(
        _ client: ClientHandle,
        taking assigned: Set<TopicPartition>,
        givingUp revoked: Set<TopicPartition>,
        deadline: Duration
    ) -> Bool {
        let end = ContinuousClock.now + deadline
        return unsafe pointer.withLock { pointer in
            guard let queue = unsafe pointer else { return true }
            defer {
                unsafe rd_kafka_queue_destroy(queue)
                unsafe pointer = nil
            }
            if !assigned.isEmpty {
                let list = PartitionList(assigned)
                unsafe free(rd_kafka_incremental_assign(client.pointer, list.pointer))
            }
            if !revoked.isEmpty {
                let list = PartitionList(revoked)
                unsafe free(rd_kafka_incremental_unassign(client.pointer, list.pointer))
            }
            unsafe free(rd_kafka_consumer_close_queue(client.pointer, queue))
            while unsafe rd_kafka_consumer_closed(client.pointer) == 0 {
                guard ContinuousClock.now < end else { return false }
                // Serves the callbacks; records that still come are dropped, uncommitted.
                if let message = unsafe rd_kafka_consumer_poll(client.pointer, 10) {
                    unsafe rd_kafka_message_destroy(message)
                }
            }
            return true
        }
    }

    private func free(_ error: OpaquePointer?) {
        if let error = unsafe error {
            unsafe rd_kafka_error_destroy(error)
        }
    }

    deinit {
        unsafe pointer.withLock { pointer in
            if let pointer = unsafe pointer {
                unsafe rd_kafka_queue_destroy(pointer)
            }
        }
    }
}
