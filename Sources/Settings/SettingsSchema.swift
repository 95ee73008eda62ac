/// The settings that a program has, in the order in which it shows them.
package struct SettingsSchema: Sendable {
    package let declarations: [SettingDeclaration]

    /// Whether `RDKAFKA_*` and the file's `rdkafka` object are passed on.
    package let takesKafkaProperties: Bool

    /// The first parts of names that the file may hold for other programs; they are passed over.
    let otherSections: Set<String>

    /// - Parameter otherSections: sections of a file that several programs share. A section that
    ///   one of the declarations belongs to is this program's own, and checked.
    package init(
        _ declarations: [SettingDeclaration],
        takesKafkaProperties: Bool = true,
        otherSections: Set<String> = []
    ) {
        let names = declarations.map(\.environmentName)
        precondition(Set(names).count == names.count, "two settings share a name")
        self.declarations = declarations
        self.takesKafkaProperties = takesKafkaProperties
        self.otherSections = otherSections.subtracting(declarations.map { Self.section($0.name) })
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

    /// `kafka` of `kafka.bootstrap`.
    static func section(_ name: String) -> String {
        String(name.prefix { $0 != "." })
    }
}
