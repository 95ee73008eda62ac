package import JSON

/// A topic, and the settings without which it is harmful: the one judgement of all programs.
package struct TopicNeed: Hashable, Sendable {
    package let topic: String
    /// The required settings by Kafka's names; the value of `max.message.bytes` is a minimum.
    package let settings: [String: String]

    package init(_ topic: String, _ settings: [String: String]) {
        self.topic = topic
        self.settings = settings
    }

    /// The size in bytes of the records that the topic must accept.
    package var recordBytesMin: Int { settings[Self.sizeSetting].flatMap { Int($0) } ?? 0 }

    /// The settings by which records would be refused, lost or larger than their reader can hold.
    ///
    /// - Parameter found: the topic's settings; those that the brokers do not tell are not judged.
    package func harm(_ found: [String: String]) -> [TopicDifference] {
        settings.sorted { $0.key < $1.key }.compactMap { name, expected in
            guard let value = found[name], isHarmful(name, value) else { return nil }
            return TopicDifference(topic: topic, property: name, planned: expected, found: value, isHarmful: true)
        }
    }

    /// Whether the value of a setting does harm.
    package func isHarmful(_ name: String, _ found: String) -> Bool {
        guard let expected = settings[name] else { return false }
        return name == Self.sizeSetting ? (Int(found) ?? 0) < recordBytesMin : found != expected
    }

    private static let sizeSetting = "max.message.bytes"
}

/// A property of an existing topic that is not as planned; reported, and left to a person to
/// change.
package struct TopicDifference: Hashable, Sendable {
    package let topic: String
    /// Kafka's name of the property, or `partitions`.
    package let property: String
    package let planned: String
    package let found: String
    /// Whether records would be refused, lost or larger than their reader can hold.
    package let isHarmful: Bool

    package init(topic: String, property: String, planned: String, found: String, isHarmful: Bool) {
        self.topic = topic
        self.property = property
        self.planned = planned
        self.found = found
        self.isHarmful = isHarmful
    }

    package var description: String { "\(topic): \(deviation)" }

    /// The difference without the topic's name.
    package var deviation: String { "\(property) is \(found), planned \(planned)" }
}

extension TopicDifference: JSONRepresentable {
    package var json: JSONContent {
        ["topic": topic, "property": property, "planned": planned, "found": found, "is_harmful": isHarmful]
    }
}
