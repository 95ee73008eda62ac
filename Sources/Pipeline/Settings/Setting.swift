/// A setting, declared once with its type; `SettingsValues` contains its value.
///
/// ```swift
/// static let recordsMax = Setting(
///     "batch.records_max", .int(1...100_000), default: 1000, "Maximum records per batch."
/// )
/// ```
package struct Setting<Value: Sendable>: Sendable {
    package let declaration: SettingDeclaration
    private let kind: SettingKind<Value>

    /// Declares a setting; a setting without a default is required.
    package init(
        _ name: String, _ kind: SettingKind<Value>, default fallback: Value? = nil, isSecret: Bool = false,
        _ sentence: String
    ) {
        self.init(
            name: name, kind: kind, presence: fallback.map { .defaulted(kind.render($0)) } ?? .required,
            fallback: fallback, isSecret: isSecret, sentence: sentence)
    }

    private init(
        name: String, kind: SettingKind<Value>, presence: SettingDeclaration.Presence, fallback: Value?, isSecret: Bool,
        sentence: String
    ) {
        self.kind = kind
        declaration = SettingDeclaration(
            name: name, type: kind.type, expected: kind.expected, presence: presence, isSecret: isSecret,
            sentence: sentence, fallback: fallback.map { .init(value: $0, text: kind.render($0)) },
            read: { input throws(SettingMismatch) in
                let value = try kind.read(input)
                return .init(value: value, text: kind.render(value))
            })
    }

    /// Returns the setting with a default, for a program that does not require a value.
    package func defaulted(to fallback: Value) -> Setting {
        Setting(declaration.name, kind, default: fallback, isSecret: declaration.isSecret, declaration.sentence)
    }

    /// Declares an optional setting, whose value is `nil` if it is absent.
    package static func optional<Wrapped: Sendable>(
        _ name: String, _ kind: SettingKind<Wrapped>, isSecret: Bool = false, _ sentence: String
    ) -> Setting where Value == Wrapped? {
        Setting(
            name: name, kind: kind.orNothing, presence: .optional, fallback: .some(nil), isSecret: isSecret,
            sentence: sentence)
    }
}

/// All properties of a setting except its Swift type, for reading, help, check and tables.
package struct SettingDeclaration: Sendable {
    package enum Presence: Sendable {
        case required
        case optional
        /// The setting has a default, given as canonical text.
        case defaulted(String)
    }

    /// A parsed value, and its canonical text.
    struct Read: Sendable {
        let value: any Sendable
        let text: String
    }

    /// The dotted name, such as `kafka.bootstrap`.
    package let name: String
    package let type: String
    package let expected: String
    package let presence: Presence
    package let isSecret: Bool
    package let sentence: String

    let fallback: Read?
    let read: @Sendable (SettingInput) throws(SettingMismatch) -> Read

    /// The name in the environment, such as `KAFKA_BOOTSTRAP`.
    package var environmentName: String { Self.environmentName(of: name) }

    static func environmentName(of name: String) -> String { String(name.uppercased().map { $0 == "." ? "_" : $0 }) }
}
