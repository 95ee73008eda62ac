import Kafka

/// The effective settings, with a value for every declared one.
package struct SettingsValues: Sendable {
    struct Entry: Sendable {
        let declaration: SettingDeclaration
        let read: SettingDeclaration.Read
        /// The source of the value.
        ///
        /// `nil` for the default.
        let origin: String?
        /// The file that contains the secret.
        ///
        /// `nil` if the secret has another source.
        var secretFile: String?
    }

    let entries: [String: Entry]
    let order: [String]

    /// The properties to pass to librdkafka, by librdkafka's names.
    package let kafkaProperties: [String: String]

    /// The value of a setting, which must be part of the schema that was read.
    package subscript<Value>(_ setting: Setting<Value>) -> Value {
        let name = setting.declaration.name
        guard let entry = entries[name], let value = entry.read.value as? Value else {
            preconditionFailure("the setting \(name) was not among the declared ones")
        }
        return value
    }

    /// Returns a function that reads a secret again from its file at each call.
    ///
    /// The function returns the original secret if the file cannot be read or contains no valid
    /// value, for example while the file is replaced, and for a secret from another source.
    package func newest(_ declaration: SettingDeclaration) -> @Sendable () -> String {
        let entry = entries[declaration.name]
        let known = entry?.read.text ?? ""
        guard let path = entry?.secretFile else { return { known } }
        return {
            let line = FileBytes.firstLine(path)
            return line.flatMap { try? declaration.read(.text($0)) }?.text ?? known
        }
    }

    /// The secrets that are read from files.
    package var secretsOfFiles: [SettingDeclaration] {
        order.compactMap { entries[$0] }.filter { $0.secretFile != nil }.map(\.declaration)
    }

    /// The files of private keys that these settings name.
    var keyFiles: [String] {
        let apps = entries.values.compactMap { $0.read.value as? [AppSetting] }.joined()
        return apps.compactMap { $0.api?.keyFile }
            + ["ssl.key.location", "ssl.keystore.location"].compactMap { kafkaProperties[$0] }
    }

    /// The effective settings as `--check` prints them, with masked secrets.
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

    /// The named settings as canonical text, one per line, without secrets.
    ///
    /// Equal settings have equal texts, so a hash of the text compares two workers.
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
    /// The names of the settings whose values differ, including librdkafka's properties.
    package func names(differingFrom other: SettingsValues) -> [String] {
        let settings = order.filter { entries[$0]?.read.text != other.entries[$0]?.read.text }
        let properties = Set(kafkaProperties.keys).union(other.kafkaProperties.keys).filter {
            kafkaProperties[$0] != other.kafkaProperties[$0]
        }.map { "rdkafka.\($0)" }
        return settings + properties.sorted()
    }

    /// Returns these settings with the values of the declared ones from `other`, which has the same schema.
    package func taking(_ declarations: [SettingDeclaration], from other: SettingsValues) -> SettingsValues {
        var entries = entries
        for declaration in declarations { entries[declaration.name] = other.entries[declaration.name] }
        return SettingsValues(entries: entries, order: order, kafkaProperties: kafkaProperties)
    }

    /// Returns these settings with the librdkafka properties of these names from `other`.
    package func taking(kafkaProperties names: Set<String>, from other: SettingsValues) -> SettingsValues {
        let kept = kafkaProperties.filter { !names.contains($0.key) }
        let taken = other.kafkaProperties.filter { names.contains($0.key) }
        return SettingsValues(entries: entries, order: order, kafkaProperties: kept.merging(taken) { $1 })
    }
}
