import JSON

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
            .contains { name.contains($0) }
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
