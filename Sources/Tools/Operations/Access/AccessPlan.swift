package import Kafka
import Foundation
import Records
package import Settings
import Store
import Topology

/// The rights in Kafka: a principal for each worker and for each kind of person, named as its role
/// in the database.
package struct AccessPlan: Sendable {
    /// Prefix of topics and groups, as configured.
    private let prefix: String
    private let groupPrefix: String
    private let principal: @Sendable (String) -> String

    /// - Parameter principal: what Kafka calls the holder of a name, with its type.
    package init(_ settings: SettingsValues, principal: @escaping @Sendable (String) -> String) {
        prefix = settings[KafkaSettings.topicPrefix]
        groupPrefix = settings[KafkaSettings.groupPrefix]
        self.principal = principal
    }

    /// All of them, in the order of the flow.
    package var rules: [KafkaAccessRule] {
        (Topology.stages + [.recovery]).flatMap(rules) + ingestion + deadLetterIndex + auditors
            + replay + operations
    }

    /// A worker reads its topic, writes what its stage writes, and looks at these topics' limits.
    private func rules(_ stage: StageDescription) -> [KafkaAccessRule] {
        let written = stage.writtenTopics + (stage.refusesRecords ? [Topic.deadLetter] : [])
        return allow(stage.program, .read, .describeConfigs, topics: [stage.inputTopic])
            + allow(stage.program, .write, .describeConfigs, topics: written)
            + [group(stage.program, .read, groupPrefix + stage.name)]
    }

    /// The ingestion services, which publish bodies.
    private var ingestion: [KafkaAccessRule] {
        allow("ingestion", .write, topics: [Topic.raw])
    }

    private var deadLetterIndex: [KafkaAccessRule] {
        let name = DatabaseRole.deadLetterIndex.name
        return allow(name, .read, topics: [Topic.deadLetter])
            + [group(name, .read, Self.indexGroup), group(name, .describe, Self.readerGroup)]
    }

    /// They read dead letters and how far the stages have come, and produce nothing.
    private var auditors: [KafkaAccessRule] {
        [DatabaseRole.auditor.name, DatabaseRole.investigator.name].flatMap(reading)
    }

    /// The rights of a replay: it sends bodies to `raw`, which are verified there, and redactions
    /// to the dead letters.
    private var replay: [KafkaAccessRule] {
        let name = DatabaseRole.replay.name
        return reading(name) + allow(name, .read, .write, .describeConfigs, topics: [Topic.raw])
            + allow(name, .write, .describeConfigs, topics: [Topic.deadLetter])
    }

    /// The rules of earlier versions that let a replay write to the later stages.
    package var withdrawn: [KafkaAccessRule] {
        let believed = Topology.stages.filter(\.readsObservations).map(\.inputTopic)
        return allow(
            DatabaseRole.replay.name,
            .read,
            .write,
            .describeConfigs,
            topics: believed
        )
    }

    private func reading(_ name: String) -> [KafkaAccessRule] {
        allow(name, .read, topics: [Topic.deadLetter])
            + allow(name, .describe, topics: Topology.stages.map(\.inputTopic))
            + [group(name, .describe, Self.readerGroup)]
            + Topology.stages.map { group(name, .describe, groupPrefix + $0.name) }
    }

    /// The commands of `pipeline`: they make topics and give them partitions, read them all, and
    /// publish bodies.
    private var operations: [KafkaAccessRule] {
        let name = DatabaseRole.operations.name
        let all: [KafkaAccessRule.Operation] = [
            .create, .alter, .describe, .describeConfigs, .alterConfigs, .read,
        ]
        return all.map {
            KafkaAccessRule(principal(name), may: $0, .topic, prefix, isPrefix: true)
        }
            + allow(name, .write, topics: [Topic.raw])
            + [
                // `account state` and kafka-consumer-groups.sh commit for them.
                KafkaAccessRule(
                    principal(name),
                    may: .read,
                    .group,
                    groupPrefix,
                    isPrefix: true
                ), group(name, .describe, "\(PipelineTool.name)-reader"),
            ]
    }

    private static let indexGroup = "dead-letter-index"
    private static let readerGroup = "dead-letter-reader"

    private func allow(
        _ name: String,
        _ operations: KafkaAccessRule.Operation...,
        topics: [String]
    ) -> [KafkaAccessRule] {
        topics.flatMap { topic in
            operations.map {
                KafkaAccessRule(principal(name), may: $0, .topic, prefix + topic)
            }
        }
    }

    private func group(
        _ name: String,
        _ operation: KafkaAccessRule.Operation,
        _ group: String
    ) -> KafkaAccessRule {
        KafkaAccessRule(principal(name), may: operation, .group, group)
    }
}

extension KafkaAccessRule {
    /// The command line of Kafka's own tool that adds it.
    var command: String { command("--add") }

    /// The command line of Kafka's own tool that removes it.
    var removal: String { command("--remove --force") }

    private func command(_ action: String) -> String {
        let pattern = isPrefix ? " --resource-pattern-type prefixed" : ""
        let operation = operation.rawValue.split(separator: "_").map(\.capitalized).joined()
        return "kafka-acls.sh --bootstrap-server \"$KAFKA_BOOTSTRAP\" \(action)"
            + " --allow-principal \(principal.quotedForShell) --operation \(operation)"
            + " --\(resource.rawValue) \(name.quotedForShell)\(pattern)"
    }
}
