import JSON
import Kafka
import Platform

/// The librdkafka properties that an operator sets.
///
/// `RDKAFKA_SECURITY_PROTOCOL`, or `rdkafka.security.protocol` in the file, sets
/// `security.protocol`.
///
/// Properties that would break a guarantee, or that librdkafka does not accept, are refused.
struct KafkaProperties {
    /// The prefix of the properties' names in the settings file.
    static let settingPrefix = "rdkafka."
    private static let environmentPrefix = "RDKAFKA_"
    /// The suffix of a variable with the path of a file that contains the secret.
    private static let secretFileSuffix = "_FILE"

    private(set) var values: [String: String] = [:]
    private(set) var problems: [SettingProblem] = []
    private let problem: @Sendable (String, String) -> String?

    /// - Parameter problem: returns librdkafka's objection to a property's name and value, or `nil`.
    init(problem: @escaping @Sendable (String, String) -> String?) { self.problem = problem }

    /// Adds a member of the settings file.
    ///
    /// - Parameters:
    ///   - setting: the full name, including `rdkafka.`.
    ///   - origin: the source for messages, such as `file settings.json`.
    mutating func add(setting: String, value: JSONValue, origin: String) {
        let name = String(setting.dropFirst(Self.settingPrefix.count))
        let text =
            switch value.kind {
            case .string: value.string
            case .number, .bool: String(decoding: value.rawBytes, as: UTF8.self)
            case .null, .object, .array: String?.none
            }
        guard let text else {
            report(name, in: origin, "expected a text, number or boolean")
            return
        }
        add(name, text, origin: origin)
    }

    mutating func read(environment: [String: String]) {
        for (variable, text) in environment.sorted(by: { $0.key < $1.key })
        where variable.hasPrefix(Self.environmentPrefix) {
            let origin = "environment \(variable)"
            let name = Self.propertyName(variable)
            let base = Self.propertyName(String(variable.dropLast(Self.secretFileSuffix.count)))
            guard variable.hasSuffix(Self.secretFileSuffix), KafkaPropertyCheck.isSecret(base) else {
                add(name, text, origin: origin)
                continue
            }
            guard let bytes = FileBytes.read(text), let secret = String(validating: bytes, as: UTF8.self) else {
                report(base, in: origin, "expected the path of a readable UTF-8 file")
                continue
            }
            // The line break at the end of a password's file is not part of the password; a PEM
            // file keeps its line breaks.
            let isOneLine = secret.utf8.filter { $0 == UInt8(ascii: "\n") }.count <= 1
            add(base, isOneLine ? secret.filter { !$0.isNewline } : secret, origin: origin)
        }
    }

    /// The sorted paths of the files that contain secrets.
    static func secretFiles(environment: [String: String]) -> [String] {
        environment.filter { variable, _ in
            variable.hasPrefix(environmentPrefix) && variable.hasSuffix(secretFileSuffix)
                && KafkaPropertyCheck.isSecret(propertyName(String(variable.dropLast(secretFileSuffix.count))))
        }.map(\.value).sorted()
    }

    private static func propertyName(_ variable: String) -> String {
        String(variable.dropFirst(environmentPrefix.count).lowercased().map { $0 == "_" ? "." : $0 })
    }

    private mutating func add(_ name: String, _ text: String, origin: String) {
        if let reason = KafkaPropertyRefusals.reason(for: name) {
            report(name, in: origin, "refused: \(reason)")
        } else if let problem = problem(name, text) {
            report(name, in: origin, problem)
        } else {
            values[name] = text
        }
    }

    private mutating func report(_ name: String, in origin: String, _ message: String) {
        problems.append(SettingProblem(setting: Self.settingPrefix + name, origin: origin, message: message))
    }
}

/// The librdkafka properties that operators may not set, because guarantees depend on them.
package enum KafkaPropertyRefusals {
    /// Returns the reason why a property is refused.
    ///
    /// `nil` if the property is allowed.
    package static func reason(for name: String) -> String? { reasons[name] }

    private static let offsets = "an offset is committed only after every output below it is acknowledged"
    private static let delivery = "outputs are idempotent and acknowledged by all replicas, so that nothing is lost"
    private static let own = "it has a setting of its own:"

    private static let reasons: [String: String] = [
        "enable.auto.commit": offsets, "auto.commit.enable": offsets, "auto.commit.interval.ms": offsets,
        "enable.auto.offset.store": offsets, "offset.store.method": offsets, "offset.store.path": offsets,
        "auto.offset.reset": "a new consumer group begins at the earliest record, or records would be skipped",
        "isolation.level": "offsets without a record would be counted wrongly",
        "enable.partition.eof": "the worker would wait for offsets without a record at a log's end",
        "partition.assignment.strategy": "the worker supports cooperative-sticky rebalances only",
        "group.protocol": "the worker supports cooperative-sticky rebalances only",
        "group.protocol.type": "the worker supports cooperative-sticky rebalances only",
        "group.id": "\(own) kafka.group_prefix", "group.instance.id": "\(own) kafka.instance_id",
        "client.id": "\(own) kafka.instance_id", "session.timeout.ms": "\(own) kafka.session_timeout",
        "heartbeat.interval.ms": "it follows from kafka.session_timeout", "bootstrap.servers": "\(own) kafka.bootstrap",
        "metadata.broker.list": "\(own) kafka.bootstrap", "acks": delivery, "request.required.acks": delivery,
        "enable.idempotence": delivery, "enable.gapless.guarantee": delivery, "transactional.id": delivery,
        "retries": delivery, "message.send.max.retries": delivery, "max.in.flight": delivery,
        "max.in.flight.requests.per.connection": delivery,
        "delivery.report.only.error": "every delivery report is awaited",
        "message.max.bytes": "it has to match the topics, which `pipeline topics` creates",
        "allow.auto.create.topics": "a topic created by the broker has the wrong partitions, sizes and retention",
        "test.mock.num.brokers": "a broker inside the worker loses everything when the worker ends",
        "test.mock.broker.rtt": "there is no broker inside the worker",
    ]
}
