package import Commands
package import JSON
package import Settings

/// The result of the command `topics`.
package struct TopicReport: Hashable, Report, Sendable {
    package var created: [String] = []
    package var existing: [String] = []
    package var altered: [String] = []
    /// Topics that got more partitions.
    package var extended: [String] = []
    package var differences: [TopicDifference] = []
    /// The reason why the settings of existing topics were not compared, if the brokers reported none.
    package var unanswered: String?

    /// Whether the workers can run with the present topics.
    package var isUsable: Bool { !differences.contains(where: \.isHarmful) }

    package var parts: [TextPart] {
        var parts = created.map { TextPart.line("created    \($0)") }
        parts += altered.map { .line("altered    \($0)") }
        parts += extended.map { .line("extended   \($0)") }
        parts += existing.map { .line("exists     \($0)") }
        parts += differences.map { difference in
            .line(
                (difference.isHarmful ? "HARMFUL    " : "differs    ") + difference.description,
                isBad: difference.isHarmful)
        }
        if let unanswered { parts.append(.line("The broker does not tell its topics' settings: \(unanswered)")) }
        return parts
    }

    package var json: JSONContent {
        [
            "created": created, "altered": altered, "extended": extended, "existing": existing,
            "differences": differences, "unanswered": unanswered, "is_usable": isUsable,
        ]
    }
}

extension TopicDifference {
    /// Compares planned properties with the cluster's; properties that it does not report are not compared.
    package static func between(_ plan: TopicPlan, partitions: Int32, configuration: [String: String])
        -> [TopicDifference]
    {
        var found: [TopicDifference] = []
        func compare(_ property: String, planned: String, found value: String, isHarmful: Bool) {
            guard planned != value else { return }
            found.append(
                TopicDifference(
                    topic: plan.name, property: property, planned: planned, found: value, isHarmful: isHarmful))
        }
        compare("partitions", planned: String(plan.partitions), found: String(partitions), isHarmful: false)
        let planned = plan.configuration(keeping: configuration, partitions: partitions)
        for (property, planned) in planned.sorted(by: { $0.key < $1.key }) {
            guard let value = configuration[property] else { continue }
            let isHarmful = plan.need.isHarmful(property, value)
            compare(property, planned: planned, found: value, isHarmful: isHarmful)
        }
        return found
    }
}
