/// The librdkafka properties that cannot be passed through, because a promise rests on them.
package enum KafkaPropertyRefusals {
    /// Why a property is refused; nil when it may pass.
    package static func reason(for name: String) -> String? {
        reasons[name]
    }

    package static var names: [String] { reasons.keys.sorted() }

    private static let offsets =
        "an offset is committed only after every output below it is acknowledged"
    private static let delivery =
        "outputs are idempotent and acknowledged by all replicas, so that nothing is lost"
    private static let own = "set it by the setting of its own:"

    private static let reasons: [String: String] = [
        "enable.auto.commit": offsets,
        "auto.commit.enable": offsets,
        "auto.commit.interval.ms": offsets,
        "enable.auto.offset.store": offsets,
        "offset.store.method": offsets,
        "offset.store.path": offsets,
        "auto.offset.reset":
            "a new consumer group begins at the earliest record, or records would be passed over",
        "isolation.level": "offsets without a record would be counted wrongly",
        "enable.partition.eof": "offsets without a record at the end of a log would be waited for",
        "partition.assignment.strategy":
            "the worker's loop answers cooperative-sticky rebalances only",
        "group.protocol": "the worker's loop answers cooperative-sticky rebalances only",
        "group.protocol.type": "the worker's loop answers cooperative-sticky rebalances only",
        "group.id": "\(own) kafka.group",
        "group.instance.id": "\(own) kafka.instance_id",
        "client.id": "\(own) kafka.instance_id",
        "session.timeout.ms": "\(own) kafka.session_timeout",
        "heartbeat.interval.ms": "it follows from kafka.session_timeout",
        "bootstrap.servers": "\(own) kafka.bootstrap",
        "metadata.broker.list": "\(own) kafka.bootstrap",
        "acks": delivery,
        "request.required.acks": delivery,
        "enable.idempotence": delivery,
        "enable.gapless.guarantee": delivery,
        "transactional.id": delivery,
        "retries": delivery,
        "message.send.max.retries": delivery,
        "max.in.flight": delivery,
        "max.in.flight.requests.per.connection": delivery,
        "delivery.report.only.error": "every delivery report is awaited",
        "message.max.bytes": "it has to match the topics, which `pipeline topics` makes",
        "allow.auto.create.topics":
            "a topic made by the broker has the wrong partitions, sizes and retention",
        "test.mock.num.brokers": "a broker inside the worker forgets everything at its end",
        "test.mock.broker.rtt": "there is no broker inside the worker",
    ]
}
