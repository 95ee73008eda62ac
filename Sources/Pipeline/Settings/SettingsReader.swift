import JSON

/// A reader of all settings that collects the problems.
struct SettingsReader {
    private let schema: SettingsSchema
    private let environment: [String: String]
    private let file: SettingsFile?
    /// The command line's options, by the names of the settings that they override.
    private let options: [String: GivenOption]
    private var problems: [SettingProblem] = []

    typealias GivenOption = (name: String, value: String)

    init(
        schema: SettingsSchema, environment: [String: String], file: SettingsFile?, options: [String: GivenOption] = [:]
    ) {
        self.schema = schema
        self.environment = environment.filter { !$0.value.isEmpty }
        self.file = file
        self.options = options
    }

    mutating func read() throws(SettingsError) -> SettingsValues {
        var properties = KafkaProperties(problem: schema.kafkaPropertyProblem)
        let inFile = readFile(&properties)
        if schema.takesKafkaProperties { properties.read(environment: environment) }
        var entries: [String: SettingsValues.Entry] = [:]
        for declaration in schema.declarations {
            entries[declaration.name] = entry(declaration, inFile: inFile[declaration.name])
        }
        problems += properties.problems
        guard problems.isEmpty else { throw SettingsError(problems: problems) }
        return SettingsValues(
            entries: entries, order: schema.declarations.map(\.name), kafkaProperties: properties.values)
    }

    /// Reads the file's values by name; reports unknown or repeated names.
    private mutating func readFile(_ properties: inout KafkaProperties) -> [String: JSONValue] {
        guard let file else { return [:] }
        let known = Set(schema.declarations.map(\.name))
        let origin = "file \(file.path)"
        var values: [String: JSONValue] = [:]
        for (name, value) in file.leaves(isKnown: known.contains) {
            if schema.takesKafkaProperties, name.hasPrefix(KafkaProperties.settingPrefix) {
                properties.add(setting: name, value: value, origin: origin)
            } else if !known.contains(name) {
                guard !schema.ignores(name) else { continue }
                let hint = Spelling.hint(for: name, among: known)
                report(name, in: origin, "there is no such setting\(hint)")
            } else if values.updateValue(value, forKey: name) != nil {
                report(name, in: origin, "given twice, nested and with a dotted name")
            }
        }
        return values
    }

    private mutating func entry(_ declaration: SettingDeclaration, inFile: JSONValue?) -> SettingsValues.Entry? {
        let problemsBefore = problems.count
        guard let (input, origin) = input(declaration, inFile: inFile) else {
            guard problems.count == problemsBefore else { return nil }
            if let fallback = declaration.fallback {
                return .init(declaration: declaration, read: fallback, origin: nil)
            }
            let alternative = declaration.isSecret ? " or \(declaration.environmentName)_FILE" : ""
            report(
                declaration.name, in: "environment \(declaration.environmentName)\(alternative)",
                "required: expected \(declaration.expected)")
            return nil
        }
        do {
            return .init(
                declaration: declaration, read: try declaration.read(input), origin: origin,
                secretFile: secretFile(declaration))
        } catch {
            report(error, of: declaration, input: input, origin: origin)
            return nil
        }
    }

    /// Returns the text and source of a setting, from the source with the highest precedence.
    private mutating func input(_ declaration: SettingDeclaration, inFile: JSONValue?) -> (
        SettingInput, origin: String
    )? {
        if let option = options[declaration.name] { return (.text(option.value), "option --\(option.name)") }
        let name = declaration.environmentName
        let inEnvironment = environment[name]
        if declaration.isSecret, let path = environment["\(name)_FILE"] {
            let origin = "environment \(name)_FILE"
            if inEnvironment != nil {
                report(declaration.name, in: origin, "given twice: set \(name) or \(name)_FILE")
                return nil
            }
            return secret(declaration, path: path, origin: origin)
        }
        if let inEnvironment { return (.text(inEnvironment), "environment \(name)") }
        guard let file, let inFile, !inFile.isNull else { return nil }
        return (.json(inFile), "file \(file.path)")
    }

    private mutating func secret(_ declaration: SettingDeclaration, path: String, origin: String) -> (
        SettingInput, origin: String
    )? {
        guard let line = FileBytes.firstLine(path) else {
            report(declaration.name, in: origin, "expected the path of a readable UTF-8 file")
            return nil
        }
        return (.text(line), origin)
    }

    private func secretFile(_ declaration: SettingDeclaration) -> String? {
        guard declaration.isSecret, options[declaration.name] == nil else { return nil }
        return environment["\(declaration.environmentName)_FILE"]
    }

    private mutating func report(
        _ mismatch: SettingMismatch, of declaration: SettingDeclaration, input: SettingInput, origin: String
    ) {
        guard mismatch.faults.isEmpty else {
            for fault in mismatch.faults { report("\(declaration.name)\(fault.path)", in: origin, fault.message) }
            return
        }
        let found = declaration.isSecret ? "" : ", found \(input.excerpt)"
        report(declaration.name, in: origin, "expected \(declaration.expected)\(found)")
    }

    private mutating func report(_ setting: String, in origin: String?, _ message: String) {
        problems.append(SettingProblem(setting: setting, origin: origin, message: message))
    }
}

/// A fault in the settings, with the expected form.
package struct SettingProblem: Hashable, Sendable, CustomStringConvertible {
    /// The setting's dotted name, or the option, variable or file with the fault.
    package let setting: String

    /// The source of the value: `option --kafka`, `environment KAFKA_BOOTSTRAP`, `file settings.json`.
    ///
    /// `nil` if no source contains the setting.
    package let origin: String?

    /// The fault and the expected form; never contains a secret.
    package let message: String

    package init(setting: String, origin: String? = nil, message: String) {
        self.setting = setting
        self.origin = origin
        self.message = message
    }

    package var description: String { "\(setting)\(origin.map { " (\($0))" } ?? ""): \(message)" }
}

/// An error with all faults in the settings.
package struct SettingsError: Error, Equatable, Sendable, CustomStringConvertible {
    package let problems: [SettingProblem]

    package init(problems: [SettingProblem]) { self.problems = problems }

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
