import Kafka

/// librdkafka's own words in our log: at debug level, because its faults come in floods and what
/// matters of them is said by the loop, once.
enum KafkaLogging {
    static func handlers(
        _ log: Log,
        client: String,
        onError: @escaping @Sendable (KafkaError) -> Void
    ) -> KafkaHandlers {
        KafkaHandlers(
            onLog: { line in
                log.debug(
                    "librdkafka",
                    [
                        "kafka.client": .string(client),
                        "kafka.facility": .string(line.facility),
                        "kafka.message": .string(line.message),
                    ]
                )
            },
            onError: onError
        )
    }
}
