/// Everything about a setting but its Swift type: what reading, help, check and tables come from.
package struct SettingDeclaration: Sendable {
    package enum Presence: Sendable {
        case required
        case optional
        /// The default, as its canonical text.
        case defaulted(String)
    }

    /// A value as it is kept, and its canonical text.
    struct Read: Sendable {
        let value: any Sendable
        let text: String
    }

    /// Dotted, such as `kafka.bootstrap`.
    package let name: String
    package let type: String
    package let expected: String
    package let presence: Presence
    package let isSecret: Bool
    package let sentence: String

    let fallback: Read?
    let read: @Sendable (SettingInput) throws(SettingMismatch) -> Read

    /// The name in the environment: `KAFKA_BOOTSTRAP`.
    package var environmentName: String {
        Self.environmentName(of: name)
    }

    static func environmentName(of name: String) -> String {
        String(name.uppercased().map { $0 == "." ? "_" : $0 })
    }
}
