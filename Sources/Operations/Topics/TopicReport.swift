import JSON

/// What `topics` did and found.
package struct TopicReport: Hashable, Sendable {
    package var created: [String] = []
    package var existing: [String] = []
    package var altered: [String] = []
    package var differences: [TopicDifference] = []
    /// Why the settings of existing topics were not compared, where the broker does not tell them.
    package var unanswered: String?

    package init() {}

    /// Whether the workers can do their work with the topics as they are.
    package var isUsable: Bool { !differences.contains(where: \.isHarmful) }

    package var lines: [String] {
        var lines = created.map { "created    \($0)" }
        lines += altered.map { "altered    \($0)" }
        lines += existing.map { "exists     \($0)" }
        lines += differences.map { difference in
            (difference.isHarmful ? "HARMFUL    " : "differs    ") + difference.description
        }
        if let unanswered {
            lines.append("The broker does not tell its topics' settings: \(unanswered)")
        }
        return lines
    }

    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            for (name, topics) in [
                ("created", created), ("altered", altered), ("existing", existing),
            ] {
                writer.key(name)
                writer.strings(topics)
            }
            writer.key("differences")
            writer.array { writer in
                for difference in differences {
                    difference.write(to: &writer)
                }
            }
            writer.member("isUsable", isUsable)
        }
        return writer.bytes
    }
}

extension TopicDifference {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("topic", topic)
            writer.member("property", property)
            writer.member("planned", planned)
            writer.member("found", found)
            writer.member("isHarmful", isHarmful)
        }
    }
}
