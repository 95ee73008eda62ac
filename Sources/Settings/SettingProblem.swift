/// One thing that is wrong with the settings, and what was expected instead.
package struct SettingProblem: Hashable, Sendable, CustomStringConvertible {
    /// The setting's dotted name, or what stands in its place.
    package let setting: String

    /// Where it was written: `environment KAFKA_BOOTSTRAP`, `file settings.json`; nil when nowhere.
    package let origin: String?

    /// Never holds a secret.
    package let message: String

    package init(setting: String, origin: String? = nil, message: String) {
        self.setting = setting
        self.origin = origin
        self.message = message
    }

    package var description: String {
        "\(setting)\(origin.map { " (\($0))" } ?? ""): \(message)"
    }
}
