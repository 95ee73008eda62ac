import JSON
import Platform

/// librdkafka properties on their way through: `RDKAFKA_SECURITY_PROTOCOL` is `security.protocol`.
///
/// Refused are those that a promise rests on, and those that librdkafka does not take.
struct KafkaProperties {
    static let filePrefix = "rdkafka."
    private static let environmentPrefix = "RDKAFKA_"
    private static let fileSuffix = "_FILE"

    private(set) var values: [String: String] = [:]
    private(set) var problems: [SettingProblem] = []
    private let problem: @Sendable (String, String) -> String?

    /// - Parameter problem: what librdkafka has against a property of this name and value.
    init(problem: @escaping @Sendable (String, String) -> String?) {
        self.problem = problem
    }

    /// Whether a property's value is masked wherever settings are shown.
    static func isSecret(_ name: String) -> Bool {
        ["password", "secret", ".pem", "token", "oauthbearer.config", "jaas"]
            .contains { name.includes($0) }
    }

    mutating func add(fileName: String, value: JSONValue, origin: String) {
        let name = String(fileName.dropFirst(Self.filePrefix.count))
        let text =
            switch value.kind {
            case .string: value.string
            case .number, .bool: String(decoding: value.rawBytes, as: UTF8.self)
            case .null, .object, .array: String?.none
            }
        guard let text else {
            report(name, origin, "expected a text, number or boolean")
            return
        }
        add(name, text, origin: origin)
    }

    mutating func read(environment: [String: String]) {
        for (variable, text) in environment.sorted(by: { $0.key < $1.key })
        where variable.hasPrefix(Self.environmentPrefix) {
            let origin = "environment \(variable)"
            let name = Self.propertyName(variable)
            let base = Self.propertyName(String(variable.dropLast(Self.fileSuffix.count)))
            guard variable.hasSuffix(Self.fileSuffix), Self.isSecret(base) else {
                add(name, text, origin: origin)
                continue
            }
            guard let bytes = FileBytes.read(text),
                let secret = String(validating: bytes, as: UTF8.self)
            else {
                report(base, origin, "expected the path of a readable UTF-8 file")
                continue
            }
            let isLine = secret.utf8.filter { $0 == UInt8(ascii: "\n") }.count <= 1
            add(base, isLine ? secret.filter { !$0.isNewline } : secret, origin: origin)
        }
    }

    /// The files that hold secrets.
    static func secretFiles(environment: [String: String]) -> [String] {
        environment.filter { variable, _ in
            variable.hasPrefix(environmentPrefix) && variable.hasSuffix(fileSuffix)
                && isSecret(propertyName(String(variable.dropLast(fileSuffix.count))))
        }
        .map(\.value).sorted()
    }

    private static func propertyName(_ variable: String) -> String {
        String(
            variable.dropFirst(environmentPrefix.count).lowercased().map { $0 == "_" ? "." : $0 }
        )
    }

    private mutating func add(_ name: String, _ text: String, origin: String) {
        if let reason = KafkaPropertyRefusals.reason(for: name) {
            report(name, origin, "refused: \(reason)")
        } else if let problem = problem(name, text) {
            report(name, origin, problem)
        } else {
            values[name] = text
        }
    }

    private mutating func report(_ name: String, _ origin: String, _ message: String) {
        problems.append(
            SettingProblem(setting: Self.filePrefix + name, origin: origin, message: message)
        )
    }
}

/// The librdkafka properties that cannot be passed through, because a promise rests on them.
package enum KafkaPropertyRefusals {
    /// Why a property is refused; nil when it may pass.
    package static func reason(for name: String) -> String? {
        reasons[name]
    }

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
