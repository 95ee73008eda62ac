package import JSON
import Platform

/// The sources of a service's settings, read at its start and again at every reload.
package struct SettingsSource: Sendable {
    private let schema: SettingsSchema
    private let environment: [String: String]
    private let filePath: String?
    private let problems: @Sendable (SettingsValues) -> [SettingProblem]

    /// - Parameters:
    ///   - filePath: the path of the JSON file; `nil` without a file.
    ///   - problems: checks combinations of settings; called if each setting is valid by itself.
    package init(
        schema: SettingsSchema, environment: [String: String], filePath: String?,
        problems: @escaping @Sendable (SettingsValues) -> [SettingProblem] = { _ in [] }
    ) {
        self.schema = schema
        self.environment = environment
        self.filePath = filePath
        self.problems = problems
    }

    /// Reads and checks the current settings.
    ///
    /// - Throws: `SettingsError` with all problems.
    package func read() throws(SettingsError) -> SettingsValues {
        let file = try filePath.map { path throws(SettingsError) in try SettingsFile(path: path) }
        let values = try schema.read(environment: environment, file: file)
        let found = problems(values)
        guard found.isEmpty else { throw SettingsError(problems: found) }
        return values
    }

    /// Problems for environment variables that resemble settings of this service.
    package var slips: [SettingProblem] { SettingProblem.slips(in: environment, among: schema.declarations) }

    /// The files that `read()` always reads: the JSON file and the files of secrets.
    package var files: [String] { (filePath.map { [$0] } ?? []) + schema.secretFiles(environment) }

    /// Problems for files of secrets and keys that every user of this machine may read.
    ///
    /// - Parameter values: the settings, which name the files of keys.
    package func exposures(_ values: SettingsValues) -> [SettingProblem] {
        SettingProblem.exposures(of: schema.secretFiles(environment) + values.keyFiles)
    }
}

extension SettingsSchema {
    fileprivate func secretFiles(_ environment: [String: String]) -> [String] {
        let secrets = declarations.filter(\.isSecret).compactMap { environment["\($0.environmentName)_FILE"] }
        return secrets + KafkaProperties.secretFiles(environment: takesKafkaProperties ? environment : [:])
    }
}

extension SettingProblem {
    fileprivate static func exposures(of files: [String]) -> [SettingProblem] {
        Set(files).filter(FileSystem.isReadableByAll).sorted().map { path in
            SettingProblem(setting: path, message: "every user of this machine may read this secret: chmod o-r \(path)")
        }
    }

    /// Problems for a tool's files of secrets and keys that every user of this machine may read.
    ///
    /// Each setting is read separately, so that a missing or wrong setting hides no other problem.
    package static func exposures(
        among declarations: [SettingDeclaration], _ arguments: CommandArguments, environment: [String: String]
    ) -> [SettingProblem] {
        let file = arguments.value("config").flatMap { try? SettingsFile(path: $0) }
        return exposures(
            of: declarations.flatMap { declaration in
                let schema = SettingsSchema([declaration], ignoresUnknown: true)
                let values = try? schema.read(environment: environment, file: file)
                return schema.secretFiles(environment) + (values?.keyFiles ?? [])
            })
    }

    /// Problems for environment variables that are no settings but begin like one, and may be misspellings.
    package static func slips(in environment: [String: String], among declarations: [SettingDeclaration])
        -> [SettingProblem]
    {
        let known = Set(
            declarations.flatMap { declaration in
                let name = declaration.environmentName
                return declaration.isSecret ? [name, "\(name)_FILE"] : [name]
            })
        let sections = Set(known.map { $0.prefix { $0 != "_" } })
        return environment.filter { !$0.value.isEmpty && !known.contains($0.key) }.keys.sorted().filter {
            sections.contains($0.prefix { $0 != "_" })
        }.compactMap { name in
            Spelling.suggestion(for: name, among: known).map { meant in
                SettingProblem(
                    setting: name, origin: "environment", message: "there is no such setting, did you mean \(meant)?")
            }
        }
    }
}

/// The JSON file of settings: nested objects; their keys, joined by dots, are the settings' names.
package struct SettingsFile: Sendable {
    /// The path, for problems.
    package let path: String
    let root: JSONValue

    /// Parses a file's text.
    ///
    /// - Throws: one problem that states why the text is no JSON object.
    package init(path: String, bytes: [UInt8]) throws(SettingsError) {
        self.path = path
        do { root = try JSONDocument(parsing: bytes).root } catch {
            throw Self.error(path, error.explanation(in: bytes))
        }
        guard root.kind == .object else { throw Self.error(path, "expected a JSON object of settings") }
    }

    /// Reads a file from disk.
    package init(path: String) throws(SettingsError) {
        guard let bytes = FileBytes.read(path) else {
            throw Self.error(path, "expected a JSON file that this process can read, at most 4MiB")
        }
        try self.init(path: path, bytes: bytes)
    }

    /// Returns the values by dotted name, in the order of the file.
    ///
    /// An object whose name is known is one value; any other object is split into its members.
    func leaves(isKnown: (String) -> Bool) -> [(name: String, value: JSONValue)] {
        var found: [(name: String, value: JSONValue)] = []
        var pending: [(name: String, value: JSONValue)] = [("", root)]
        while let (prefix, object) = pending.popLast() {
            for (key, value) in object.members {
                let name = prefix.isEmpty ? key.string ?? "" : "\(prefix).\(key.string ?? "")"
                if value.kind == .object, !isKnown(name) {
                    pending.append((name, value))
                } else {
                    found.append((name, value))
                }
            }
        }
        return found.sorted { $0.value.range.lowerBound < $1.value.range.lowerBound }
    }

    private static func error(_ path: String, _ message: String) -> SettingsError {
        SettingsError(problems: [SettingProblem(setting: "--config", origin: "file \(path)", message: message)])
    }
}

/// The operator's text for a setting, before it is parsed.
package enum SettingInput: Sendable {
    /// A text from the environment, or from the file of a secret.
    case text(String)
    /// A value from the JSON file.
    case json(JSONValue)

    /// The text of a JSON string or of the environment.
    ///
    /// `nil` for any other JSON type.
    package var string: String? {
        switch self {
        case .text(let text): text
        case .json(let value): value.string
        }
    }

    /// The beginning of the text, short enough to quote in a problem.
    var excerpt: String {
        let whole =
            switch self {
            case .text(let text): "\"\(text)\""
            case .json(let value): String(decoding: value.rawBytes, as: UTF8.self)
            }
        return whole.count <= Self.excerptLengthMax ? whole : "\(whole.prefix(Self.excerptLengthMax))…"
    }

    private static let excerptLengthMax = 60
}

/// Reads small files completely: settings and secrets.
package enum FileBytes {
    /// Maximum bytes of a file, so that a wrong path (a device, a data file) does not fill the memory.
    static let bytesMax = 4 << 20

    /// Returns the first non-empty line, or an empty text if there is no such line.
    ///
    /// Returns `nil` if the file cannot be read or is not UTF-8.
    static func firstLine(_ path: String) -> String? {
        guard let bytes = read(path), let text = String(validating: bytes, as: UTF8.self) else { return nil }
        return String(text.split(whereSeparator: \.isNewline).first ?? "")
    }

    /// Returns the file's bytes, or `nil` if the file cannot be read or is larger than `bytesMax`.
    package static func read(_ path: String) -> [UInt8]? {
        guard FileSystem.isReadableFile(path), let file = InputFile(path: path) else { return nil }
        return try? file.readWhole(atMost: bytesMax)
    }
}
