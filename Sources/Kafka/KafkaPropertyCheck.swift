/// Asks librdkafka about single properties, before any client is made.
package enum KafkaPropertyCheck {
    /// What is wrong with a property, in librdkafka's words; nil when nothing is.
    package static func problem(_ name: String, _ value: String) -> String? {
        do {
            _ = try ClientConfiguration([name: value])
            return nil
        } catch {
            return error.message
        }
    }
}
