package import JSON

/// A topic with its required settings; all programs judge topics by this type.
package struct TopicNeed: Hashable, Sendable {
    package let topic: String
    /// The required settings, by Kafka's names; the value of `max.message.bytes` is a minimum.
    package let settings: [String: String]

    package init(_ topic: String, _ settings: [String: String]) {
        self.topic = topic
        self.settings = settings
    }

    /// The size of the largest records that the topic must accept, in bytes.
    package var recordBytesMin: Int { settings[Self.sizeSetting].flatMap { Int($0) } ?? 0 }

    /// The settings that would cause records to be refused, lost or too large for their reader.
    ///
    /// - Parameter found: the topic's settings; settings that the brokers do not report are not judged.
    package func harm(_ found: [String: String]) -> [TopicDifference] {
        settings.sorted { $0.key < $1.key }.compactMap { name, expected in
            guard let value = found[name], isHarmful(name, value) else { return nil }
            return TopicDifference(topic: topic, property: name, planned: expected, found: value, isHarmful: true)
        }
    }

    /// Whether a setting's value would cause records to be refused, lost or too large for their reader.
    package func isHarmful(_ name: String, _ found: String) -> Bool {
        guard let expected = settings[name] else { return false }
        return name == Self.sizeSetting ? (Int(found) ?? 0) < recordBytesMin : found != expected
    }

    private static let sizeSetting = "max.message.bytes"
}

/// A property of an existing topic that differs from the plan; only reported, never changed.
package struct TopicDifference: Hashable, Sendable {
    package let topic: String
    /// The property's name in Kafka, or `partitions`.
    package let property: String
    package let planned: String
    package let found: String
    /// Whether records would be refused, lost or too large for their reader.
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
