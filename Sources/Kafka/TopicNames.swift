import CRDKafka

/// The names behind librdkafka's topic handles, so that a record costs no string.
///
/// Emptied at each rebalance: a handle's address may come back for another topic.
@safe
struct TopicNames {
    private var names: [OpaquePointer: String] = unsafe [:]

    subscript(handle: OpaquePointer?) -> String {
        mutating get {
            guard let handle = unsafe handle else { return "" }
            if let name = unsafe names[handle] {
                return name
            }
            let name = unsafe String(optionalCString: rd_kafka_topic_name(handle))
            unsafe names[handle] = name
            return name
        }
    }

    mutating func removeAll() {
        unsafe names.removeAll(keepingCapacity: true)
    }
}
