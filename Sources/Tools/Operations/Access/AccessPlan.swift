import Commands
import Records
import Settings
import Store
import Topology

/// The rights in Kafka: a principal for each worker and for each kind of person, named as its role
/// in the database.
struct AccessPlan: Sendable {
    /// Prefix of topics and groups, as configured.
    private let prefix: String
    private let groupPrefix: String
    private let principal: @Sendable (String) -> String

    /// - Parameter principal: what Kafka calls the holder of a name, with its type.
    init(_ settings: SettingsValues, principal: @escaping @Sendable (String) -> String) {
        prefix = settings[KafkaSettings.topicPrefix]
        groupPrefix = settings[KafkaSettings.groupPrefix]
        self.principal = principal
    }

    /// All of them, in the order of the flow.
    var rules: [KafkaAccessRule] {
        (Topology.stages + [.recovery]).flatMap(rules) + [ingestion] + deadLetterIndex + auditors + replay + operations
    }

    /// A worker reads its topic, writes what its stage writes, and looks at these topics' limits.
    private func rules(_ stage: StageDescription) -> [KafkaAccessRule] {
        let written = stage.writtenTopics + (stage.refusesRecords ? [Topic.deadLetter] : [])
        return [
            allow(stage.program, .read, .describeConfigs, topics: [stage.inputTopic]),
            allow(stage.program, .write, .describeConfigs, topics: written),
            allow(stage.program, .read, groups: [groupPrefix + stage.name]),
        ].filter { !$0.names.isEmpty }
    }

    /// The ingestion services, which publish bodies.
    private var ingestion: KafkaAccessRule { allow("ingestion", .write, topics: [Topic.raw]) }

    private var deadLetterIndex: [KafkaAccessRule] {
        let stage = StageDescription.deadLetterIndex
        return rules(stage) + [allow(stage.program, .describe, groups: [Self.readerGroup])]
    }

    /// The rules of auditors, who read dead letters and the stages' progress, and produce nothing.
    private var auditors: [KafkaAccessRule] {
        [DatabaseRole.auditor.name, DatabaseRole.investigator.name].flatMap(reading)
    }

    /// The rights of a replay: it sends bodies to `raw`, which are verified there, and redactions
    /// to the dead letters.
    private var replay: [KafkaAccessRule] {
        let name = DatabaseRole.replay.name
        return reading(name) + [
            allow(name, .read, .write, .describeConfigs, topics: [Topic.raw]),
            allow(name, .write, .describeConfigs, topics: [Topic.deadLetter]),
        ]
    }

    /// The rights of earlier versions that let a replay write to the later stages.
    var withdrawn: KafkaAccessRule {
        let believed = Topology.stages.filter(\.readsObservations).map(\.inputTopic)
        return allow(DatabaseRole.replay.name, .read, .write, .describeConfigs, topics: believed)
    }

    private func reading(_ name: String) -> [KafkaAccessRule] {
        let groups = [Self.readerGroup] + Topology.stages.map { groupPrefix + $0.name }
        return [
            allow(name, .read, topics: [Topic.deadLetter]),
            allow(name, .describe, topics: Topology.stages.map(\.inputTopic)), allow(name, .describe, groups: groups),
        ]
    }

    /// The commands of `pipeline`: they make topics and give them partitions, read them all, and
    /// publish bodies.
    private var operations: [KafkaAccessRule] {
        let name = DatabaseRole.operations.name
        return [
            KafkaAccessRule(
                principal: principal(name),
                operations: [.create, .alter, .describe, .describeConfigs, .alterConfigs, .read], resource: .topic,
                names: [prefix], isPrefix: true), allow(name, .write, topics: [Topic.raw]),
            // `account state` and kafka-consumer-groups.sh commit for them.
            KafkaAccessRule(
                principal: principal(name), operations: [.read], resource: .group, names: [groupPrefix], isPrefix: true),
            allow(name, .describe, groups: ["\(PipelineTool.name)-reader"]),
        ]
    }

    private static let readerGroup = "dead-letter-reader"

    private func allow(_ name: String, _ operations: KafkaAccessRule.Operation..., topics: [String]) -> KafkaAccessRule
    {
        KafkaAccessRule(
            principal: principal(name), operations: operations, resource: .topic, names: topics.map { prefix + $0 })
    }

    private func allow(_ name: String, _ operation: KafkaAccessRule.Operation, groups: [String]) -> KafkaAccessRule {
        KafkaAccessRule(principal: principal(name), operations: [operation], resource: .group, names: groups)
    }
}

/// The rights of one principal to topics or groups, from any host (KIP-11, KIP-290).
struct KafkaAccessRule: Sendable {
    enum Resource: String, Sendable { case topic, group }

    /// An operation under the name that kafka-acls.sh takes; `Read` and `Write` imply `Describe`.
    enum Operation: String, Sendable {
        case read = "Read"
        case write = "Write"
        case create = "Create"
        case alter = "Alter"
        case describe = "Describe"
        case describeConfigs = "DescribeConfigs"
        case alterConfigs = "AlterConfigs"
    }

    /// The principal with its type, such as `User:verify-worker`.
    let principal: String
    let operations: [Operation]
    let resource: Resource
    let names: [String]
    /// Whether the names are the beginnings of names.
    var isPrefix = false

    /// The command line of Kafka's own tool that adds it.
    var command: String { command("--add") }

    /// The command line of Kafka's own tool that removes it.
    var removal: String { command("--remove --force") }

    private func command(_ action: String) -> String {
        "kafka-acls.sh --bootstrap-server \"$KAFKA_BOOTSTRAP\" \(action)"
            + " --allow-principal \(principal.quotedForShell)"
            + operations.map { " --operation \($0.rawValue)" }.joined()
            + names.map { " --\(resource.rawValue) \($0.quotedForShell)" }.joined()
            + (isPrefix ? " --resource-pattern-type prefixed" : "")
    }
}
