/// Where a service's settings come from: read at its start, and again at every reload.
package struct SettingsSource: Sendable {
    private let schema: SettingsSchema
    private let environment: [String: String]
    private let filePath: String?
    private let problems: @Sendable (SettingsValues) -> [SettingProblem]

    /// - Parameters:
    ///   - filePath: the JSON file, if there is one.
    ///   - problems: judges what only the whole of the settings shows; called once they are all
    ///     of the right type.
    package init(
        schema: SettingsSchema,
        environment: [String: String],
        filePath: String?,
        problems: @escaping @Sendable (SettingsValues) -> [SettingProblem] = { _ in [] }
    ) {
        self.schema = schema
        self.environment = environment
        self.filePath = filePath
        self.problems = problems
    }

    /// The settings as they stand there now, judged as a whole.
    ///
    /// - Throws: everything that is wrong with them, at once.
    package func read() throws(SettingsError) -> SettingsValues {
        let file = try filePath.map { path throws(SettingsError) in
            try SettingsFile(path: path)
        }
        let values = try schema.read(environment: environment, file: file)
        let found = problems(values)
        guard found.isEmpty else { throw SettingsError(problems: found) }
        return values
    }

    /// The files that `read()` reads whatever stands in them: the JSON file, and those that hold
    /// secrets.
    package var files: [String] {
        let secrets = schema.declarations.filter(\.isSecret).compactMap { declaration in
            environment["\(declaration.environmentName)_FILE"]
        }
        return (filePath.map { [$0] } ?? []) + secrets
    }
}
