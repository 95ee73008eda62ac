extension SettingsValues {
    /// The names of the settings whose values are others here, librdkafka's properties among them.
    package func names(differingFrom other: SettingsValues) -> [String] {
        let settings = order.filter { entries[$0]?.read.text != other.entries[$0]?.read.text }
        let properties = Set(kafkaProperties.keys).union(other.kafkaProperties.keys)
            .filter { kafkaProperties[$0] != other.kafkaProperties[$0] }
            .map { "rdkafka.\($0)" }
        return settings + properties.sorted()
    }

    /// These settings, but the named ones as they are in `other`, which has the same ones.
    package func taking(
        _ declarations: [SettingDeclaration],
        from other: SettingsValues
    ) -> SettingsValues {
        var entries = entries
        for declaration in declarations {
            entries[declaration.name] = other.entries[declaration.name]
        }
        return SettingsValues(entries: entries, order: order, kafkaProperties: kafkaProperties)
    }
}
