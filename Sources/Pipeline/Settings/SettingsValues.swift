import Kafka

/// The effective settings: every declared one has its value.
package struct SettingsValues: Sendable {
    struct Entry: Sendable {
        let declaration: SettingDeclaration
        let read: SettingDeclaration.Read
        /// The source of the value.
        ///
        /// `nil` for the default.
        let origin: String?
        /// The file that holds the secret; nil if it stands elsewhere.
        var secretFile: String?
    }

    let entries: [String: Entry]
    let order: [String]

    /// librdkafka properties that pass through, by librdkafka's names.
    package let kafkaProperties: [String: String]

    /// The value of a setting, which must be one of those that were read.
    package subscript<Value>(_ setting: Setting<Value>) -> Value {
        let name = setting.declaration.name
        guard let entry = entries[name], let value = entry.read.value as? Value else {
            preconditionFailure("the setting \(name) was not among the declared ones")
        }
        return value
    }

    /// Reads a secret again from the file that it came from, each time it is called.
    ///
    /// Gives what was read at the start where the file cannot be read or holds no such value, as
    /// while it is replaced; a secret from elsewhere stays as it was read.
    package func newest(_ declaration: SettingDeclaration) -> @Sendable () -> String {
        let entry = entries[declaration.name]
        let known = entry?.read.text ?? ""
        guard let path = entry?.secretFile else { return { known } }
        return {
            let line = FileBytes.firstLine(path)
            return line.flatMap { try? declaration.read(.text($0)) }?.text ?? known
        }
    }

    /// The secrets that a change of their files replaces.
    package var secretsOfFiles: [SettingDeclaration] {
        order.compactMap { entries[$0] }.filter { $0.secretFile != nil }.map(\.declaration)
    }

    /// The files of private keys that these settings name.
    var keyFiles: [String] {
        let apps = entries.values.compactMap { $0.read.value as? [AppSetting] }.joined()
        return apps.compactMap { $0.api?.keyFile }
            + ["ssl.key.location", "ssl.keystore.location"].compactMap { kafkaProperties[$0] }
    }

    /// The effective settings for people, secrets masked: what `--check` prints.
    package var report: String {
        let lines = order.compactMap { entries[$0] }.map { entry in
            let origin = entry.origin ?? "default"
            return (line: "\(entry.declaration.name) = \(shown(entry))", origin: origin)
        }
        let properties = kafkaProperties.sorted { $0.key < $1.key }.map { name, value in
            let isSecret = KafkaPropertyCheck.isSecret(name)
            let shown = isSecret ? Self.mask : value
            return (line: "rdkafka.\(name) = \(shown)", origin: "passed to librdkafka")
        }
        let all = lines + properties
        let width = all.map(\.line.count).filter { $0 <= 60 }.max() ?? 0
        return all.map { line, origin in
            let padding = String(repeating: " ", count: max(0, width - line.count))
            return "\(line)\(padding)  # \(origin)\n"
        }.joined()
    }

    /// The named settings as canonical text, one a line, without secrets.
    ///
    /// Equal settings give equal text: hash it to compare two workers.
    package func canonicalText(of declarations: [SettingDeclaration]) -> String {
        declarations.filter { !$0.isSecret }.sorted { $0.name < $1.name }.map {
            "\($0.name)=\(entries[$0.name]?.read.text ?? "")\n"
        }.joined()
    }

    private static let mask = "********"

    private func shown(_ entry: Entry) -> String {
        if entry.read.text.isEmpty { return "(none)" }
        return entry.declaration.isSecret ? Self.mask : entry.read.text
    }
}

extension SettingsValues {
    /// The names of the settings whose values are others here, librdkafka's properties among them.
    package func names(differingFrom other: SettingsValues) -> [String] {
        let settings = order.filter { entries[$0]?.read.text != other.entries[$0]?.read.text }
        let properties = Set(kafkaProperties.keys).union(other.kafkaProperties.keys).filter {
            kafkaProperties[$0] != other.kafkaProperties[$0]
        }.map { "rdkafka.\($0)" }
        return settings + properties.sorted()
    }

    /// These settings, but the named ones as they are in `other`, which has the same ones.
    package func taking(_ declarations: [SettingDeclaration], from other: SettingsValues) -> SettingsValues {
        var entries = entries
        for declaration in declarations { entries[declaration.name] = other.entries[declaration.name] }
        return SettingsValues(entries: entries, order: order, kafkaProperties: kafkaProperties)
    }

    /// These settings, but librdkafka's properties of these names as they are in `other`.
    package func taking(kafkaProperties names: Set<String>, from other: SettingsValues) -> SettingsValues {
        let kept = kafkaProperties.filter { !names.contains($0.key) }
        let taken = other.kafkaProperties.filter { names.contains($0.key) }
        return SettingsValues(entries: entries, order: order, kafkaProperties: kept.merging(taken) { $1 })
    }
}
