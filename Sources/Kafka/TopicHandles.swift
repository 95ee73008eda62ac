import CRDKafka
import Synchronization

/// The topics that a producer writes to, looked up once each.
@safe
final class TopicHandles: @unchecked Sendable {
    @safe
    private struct State {
        /// Nil once closed; keeps the client alive for as long as there are handles.
        var client: ClientHandle?
        var handles: [String: OpaquePointer] = unsafe [:]
    }

    private let state: Mutex<State>

    init(_ client: ClientHandle) {
        state = unsafe Mutex(State(client: client))
    }

    /// Stays librdkafka's; nil once closed.
    func handle(_ topic: String) -> OpaquePointer? {
        unsafe state.withLock { state in
            if let handle = unsafe state.handles[topic] {
                return unsafe handle
            }
            guard let client = state.client,
                let handle = unsafe rd_kafka_topic_new(client.pointer, topic, nil)
            else { return nil }
            unsafe state.handles[topic] = handle
            return unsafe handle
        }
    }

    func close() {
        state.withLock { state in
            unsafe state.handles.values.forEach { unsafe rd_kafka_topic_destroy($0) }
            unsafe state.handles = [:]
            state.client = nil
        }
    }

    deinit {
        close()
    }
}
