import CRDKafka
package import Kafka
import Synchronization

/// librdkafka's mock cluster: brokers on loopback within this process, for tests and the demo.
///
/// Clients of other processes may use the cluster too. It keeps about 4.6 MB per partition and silently drops the
/// oldest records beyond that. It supports no CreateTopics (use `createTopic`), no DescribeConfigs, no group listing,
/// no static membership and no size limits.
@safe package final class MockCluster: Sendable {
    @safe private struct State {
        var cluster: OpaquePointer?
        /// The client that librdkafka requires beside the cluster for its own state.
        var client: OpaquePointer?
    }

    private let state: Mutex<State>
    package let bootstrapServers: String

    package init(brokers: Int = 1) throws(KafkaError) {
        let configuration = unsafe rd_kafka_conf_new()
        // Suppresses the warning that the client has no brokers: this client creates them.
        _ = unsafe rd_kafka_conf_set(configuration, "log_level", "4", nil, 0)
        guard let client = unsafe rd_kafka_new(RD_KAFKA_PRODUCER, configuration, nil, 0),
            let cluster = unsafe rd_kafka_mock_cluster_new(client, Int32(clamping: brokers)),
            let servers = unsafe rd_kafka_mock_cluster_bootstraps(cluster)
        else { throw KafkaError(code: .other(0), name: "MOCK", message: "librdkafka could not start its mock cluster") }
        bootstrapServers = unsafe String(cString: servers)
        state = unsafe Mutex(State(cluster: cluster, client: client))
    }

    package func createTopic(_ name: String, partitions: Int) throws(KafkaError) {
        unsafe try call { cluster in unsafe rd_kafka_mock_topic_create(cluster, name, Int32(clamping: partitions), 1) }
    }

    /// Disconnects a broker, or all brokers for -1, and refuses new connections.
    package func takeDown(broker: Int32 = -1) throws(KafkaError) {
        unsafe try call { unsafe rd_kafka_mock_broker_set_down($0, broker) }
    }

    package func bringUp(broker: Int32 = -1) throws(KafkaError) {
        unsafe try call { unsafe rd_kafka_mock_broker_set_up($0, broker) }
    }

    package func delayAnswers(by delay: Duration) throws(KafkaError) {
        let milliseconds = Int32(delay / .milliseconds(1))
        unsafe try call { unsafe rd_kafka_mock_broker_set_rtt($0, -1, milliseconds) }
    }

    /// Makes the next requests of a kind fail, one request for each error, in order.
    package func fail(_ request: MockRequest, with errors: [MockError]) throws(KafkaError) {
        let codes = errors.map { rd_kafka_resp_err_t($0.rawValue) }
        unsafe try call { cluster in
            unsafe rd_kafka_mock_push_request_errors_array(cluster, request.rawValue, codes.count, codes)
            return RD_KAFKA_RESP_ERR_NO_ERROR
        }
    }

    /// Discards the remaining errors of `fail(_:with:)`.
    package func clearFailures(_ request: MockRequest) throws(KafkaError) {
        unsafe try call { cluster in
            unsafe rd_kafka_mock_clear_request_errors(cluster, request.rawValue)
            return RD_KAFKA_RESP_ERR_NO_ERROR
        }
    }

    private func call(_ body: @Sendable (OpaquePointer) -> rd_kafka_resp_err_t) throws(KafkaError) {
        let code: rd_kafka_resp_err_t? = state.withLock { state in unsafe state.cluster.map { unsafe body($0) } }
        guard let code else { throw .closed("mock cluster") }
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            let name = unsafe rd_kafka_err2name(code).map { unsafe String(cString: $0) } ?? ""
            throw KafkaError(code: .other(code.rawValue), name: name, message: "the mock cluster refused")
        }
    }

    /// Stops the brokers; clients lose their connections.
    package func stop() {
        state.withLock { state in
            if let cluster = unsafe state.cluster { unsafe rd_kafka_mock_cluster_destroy(cluster) }
            if let client = unsafe state.client { unsafe rd_kafka_destroy(client) }
            state = State()
        }
    }

    deinit { stop() }
}

/// The errors that a mock cluster can return, by their number.
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

/// The requests that a mock cluster can fail, by their number in Kafka's protocol.
package enum MockRequest: Int16, Sendable {
    case produce = 0
    case fetch = 1
    case listOffsets = 2
    case metadata = 3
    case offsetCommit = 8
    case joinGroup = 11
    case heartbeat = 12
    case syncGroup = 14
    case initProducerID = 22
}
