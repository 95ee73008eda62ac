import CDecompression
import CRDKafka
import Platform
import Synchronization

/// librdkafka's configuration of a client, owned here until the client is created.
@safe struct ClientConfiguration: ~Copyable {
    private var pointer: OpaquePointer?

    /// Fails at the first property whose name or value librdkafka does not accept.
    init(_ properties: [String: String]) throws(KafkaError) {
        unsafe pointer = rd_kafka_conf_new()
        for (name, value) in properties.sorted(by: { $0.key < $1.key }) { try set(name, value) }
    }

    deinit { if let pointer = unsafe pointer { unsafe rd_kafka_conf_destroy(pointer) } }

    private func set(_ name: String, _ value: String) throws(KafkaError) {
        var outcome = RD_KAFKA_CONF_OK
        let reason = unsafe ErrorText.written { text, count in
            unsafe outcome = rd_kafka_conf_set(pointer, name, value, text, count)
        }
        guard outcome != RD_KAFKA_CONF_OK else { return }
        // librdkafka's reason quotes the value, which may be a password.
        let shown = KafkaPropertyCheck.isSecret(name) ? "its value is not accepted" : reason
        throw KafkaError(
            code: .invalidConfiguration, name: "INVALID_CONFIGURATION", message: "librdkafka property \(name): \(shown)"
        )
    }

    /// Sets the callbacks of all clients, and the object that each callback receives.
    ///
    /// - Parameter callbacks: an object that is not retained and must outlive the client.
    func setCallbacks(_ callbacks: ClientCallbacks) {
        unsafe rd_kafka_conf_set_opaque(pointer, Unmanaged.passUnretained(callbacks).toOpaque())
        unsafe rd_kafka_conf_set_log_cb(pointer, clientLogged)
        unsafe rd_kafka_conf_set_error_cb(pointer, clientFailed)
        unsafe rd_kafka_conf_set_stats_cb(pointer, clientStatistics)
    }

    func setConsumerCallbacks() {
        unsafe rd_kafka_conf_set_rebalance_cb(pointer, consumerRebalanced)
        unsafe rd_kafka_conf_set_background_event_cb(pointer, consumerBackgroundEvent)
    }

    func setProducerCallbacks() { unsafe rd_kafka_conf_set_dr_msg_cb(pointer, producerDelivered) }

    /// Whether the creation of the last consumer failed.
    private static let hasFailed = Atomic(false)

    /// Creates the client, which then owns the configuration.
    ///
    /// If a consumer cannot be created, its configuration is not freed: librdkafka 2.0.2 has already freed the
    /// interceptors of `decompression_limit`, and would free them twice. So after a failure, for example because a
    /// certificate does not fit its key, a client without interceptors is tried first.
    consuming func makeClient(_ type: rd_kafka_type_t) throws(KafkaError) -> OpaquePointer {
        guard type == RD_KAFKA_CONSUMER else {
            let client = unsafe try Self.make(type, pointer)
            unsafe pointer = nil
            return unsafe client
        }
        if Self.hasFailed.load(ordering: .relaxed) {
            let trial = unsafe rd_kafka_conf_dup(pointer)
            do { unsafe rd_kafka_destroy(try Self.make(type, trial)) } catch {
                unsafe rd_kafka_conf_destroy(trial)
                throw error
            }
        }
        let limited = unsafe pointer
        unsafe pointer = nil
        unsafe decompression_limit(limited)
        do {
            let client = unsafe try Self.make(type, limited)
            Self.hasFailed.store(false, ordering: .relaxed)
            return unsafe client
        } catch {
            Self.hasFailed.store(true, ordering: .relaxed)
            throw error
        }
    }

    private static func make(_ type: rd_kafka_type_t, _ configuration: OpaquePointer?) throws(KafkaError)
        -> OpaquePointer
    {
        var made: OpaquePointer?
        let reason = unsafe ErrorText.written { text, count in
            unsafe made = rd_kafka_new(type, configuration, text, count)
        }
        guard let client = unsafe made else {
            throw KafkaError(code: .invalidConfiguration, name: "INVALID_CONFIGURATION", message: reason)
        }
        return unsafe client
    }
}

/// Checks of single properties, before any client is created.
package enum KafkaPropertyCheck {
    /// Whether a property's value must not be shown.
    package static func isSecret(_ name: String) -> Bool {
        ["password", "secret", ".pem", "token", "oauthbearer.config", "jaas"].contains { name.includes($0) }
    }

    /// The fault of a property in librdkafka's words.
    ///
    /// `nil` if the property has no fault.
    package static func problem(_ name: String, _ value: String) -> String? {
        do {
            _ = try ClientConfiguration([name: value])
            return nil
        } catch { return error.message }
    }
}

extension Duration {
    /// Whole milliseconds for a C call, at least zero and at most `Int32.max`.
    var millisecondsClamped: Int32 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < Int64(Int32.max) / 1_000 else { return .max }
        return Int32(seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
    }
}
