/// The settings that a program has, in the order in which it shows them.
package struct SettingsSchema: Sendable {
    package let declarations: [SettingDeclaration]

    /// Whether `RDKAFKA_*` and the file's `rdkafka` object are passed on.
    package let takesKafkaProperties: Bool

    package init(_ declarations: [SettingDeclaration], takesKafkaProperties: Bool = true) {
        let names = declarations.map(\.environmentName)
        precondition(Set(names).count == names.count, "two settings share a name")
        self.declarations = declarations
        self.takesKafkaProperties = takesKafkaProperties
    }

    /// Reads everything and reports all that is wrong at once.
    ///
    /// The environment wins over the file; an empty variable counts as not set. A secret can also
    /// come from a file named by `<NAME>_FILE`.
    package func read(
        environment: [String: String],
        file: SettingsFile? = nil
    ) throws(SettingsError) -> SettingsValues {
        var reader = SettingsReader(schema: self, environment: environment, file: file)
        return try reader.read()
    }
}
