import CRDKafka
import Synchronization

/// What librdkafka's callbacks of one client write to, from whatever thread they come.
final class ClientCallbacks: Sendable {
    let handlers: KafkaHandlers
    /// The rebalance events since the last poll, in order.
    private let rebalances = Mutex<[RebalanceEvent]>([])
    let commits = PendingCommits()
    /// While the consumer closes nobody is left to finish work: what is revoked goes at once.
    let isClosing = Atomic(false)

    init(handlers: KafkaHandlers) {
        self.handlers = handlers
    }

    func record(_ event: RebalanceEvent) {
        rebalances.withLock { $0.append(event) }
    }

    func takeRebalances() -> [RebalanceEvent] {
        rebalances.withLock { events in
            guard !events.isEmpty else { return [] }
            defer { events = [] }
            return events
        }
    }

    /// The object behind librdkafka's opaque pointer, which the client's owner keeps alive.
    static func behind(_ opaque: UnsafeMutableRawPointer?) -> ClientCallbacks? {
        guard let opaque = unsafe opaque else { return nil }
        return unsafe Unmanaged<ClientCallbacks>.fromOpaque(opaque).takeUnretainedValue()
    }
}

/// Called on librdkafka's threads, and while the client is still being made.
func clientLogged(
    client: OpaquePointer?,
    level: Int32,
    facility: UnsafePointer<CChar>?,
    message: UnsafePointer<CChar>?
) {
    guard let client = unsafe client,
        let callbacks = unsafe ClientCallbacks.behind(rd_kafka_opaque(client))
    else { return }
    let line = unsafe KafkaLogLine(
        level: level,
        facility: String(optionalCString: facility),
        message: String(optionalCString: message)
    )
    callbacks.handlers.onLog(line)
}

func clientFailed(
    client: OpaquePointer?,
    code: Int32,
    reason: UnsafePointer<CChar>?,
    opaque: UnsafeMutableRawPointer?
) {
    guard let callbacks = unsafe ClientCallbacks.behind(opaque) else { return }
    let error = rd_kafka_resp_err_t(code)
    let words = unsafe String(optionalCString: reason)
    callbacks.handlers.onError(KafkaError(error, message: words))
}

/// Zero tells librdkafka to free the text itself.
func clientStatistics(
    client: OpaquePointer?,
    json: UnsafeMutablePointer<CChar>?,
    bytes: Int,
    opaque: UnsafeMutableRawPointer?
) -> Int32 {
    if let callbacks = unsafe ClientCallbacks.behind(opaque) {
        unsafe callbacks.handlers.onStatistics(String(optionalCString: json))
    }
    return 0
}
