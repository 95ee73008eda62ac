import Commands
import Kafka
import Operations
import Records
import TestSupport
import Testing

@Suite struct TopicsCommandTests {
    private let transcript = ConsoleTranscript()

    private func topics(_ cluster: KafkaCluster, _ arguments: String...) async -> Int32 {
        await topics(cluster, arguments)
    }

    private func topics(_ cluster: KafkaCluster, _ arguments: [String]) async -> Int32 {
        await PipelineTool.tool.run(
            ["topics", "--prefix", cluster.name("topics") + "."] + arguments,
            ["KAFKA_BOOTSTRAP": cluster.bootstrapServers], on: transcript)
    }

    @Test(.enabled(if: RealKafka.isAvailable, "needs a real Kafka"))
    func `topics are created once, then compared, and altered only with the option`() async throws {
        let cluster = try await KafkaCluster(.real)
        #expect(await topics(cluster, "--partitions=2") == 0)
        #expect(transcript.output.matches(of: /created +/).count == 8)

        #expect(await topics(cluster, "--partitions=2") == 0)
        #expect(transcript.output.matches(of: /exists +/).count == 8)
        #expect(!transcript.output.contains("differs"))

        #expect(await topics(cluster, "--partitions=3", "--retention=1d") == 0)
        #expect(transcript.output.matches(of: /differs .*: partitions is 2, planned 3/).count == 8)
        #expect(transcript.output.matches(of: /differs .*: retention.ms is 604800000/).count == 5)

        #expect(await topics(cluster, "--partitions=2", "--retention=1d", "--alter") == 0)
        #expect(transcript.output.matches(of: /altered +/).count == 5)

        #expect(await topics(cluster, "--partitions=3", "--retention=1d", "--add-partitions") == 0)
        // The topics that stages read.
        #expect(transcript.output.matches(of: /extended +/).count == 4)

        let admin = try KafkaAdmin(configuration: cluster.client)
        let name = cluster.name("topics") + ".dead-letter"
        let found = try await admin.topicConfigurations([name], deadline: .hopeless)
        await admin.close()
        #expect(found.value?[name]?["retention.ms"]?.value == String(400 * 86_400_000))
        #expect(found.value?[name]?["retention.bytes"]?.value == String((32 << 30) / 2))
        #expect(found.value?[name]?["max.message.bytes"]?.value == "3145728")
    }

    @Test(.enabled(if: RealKafka.isAvailable, "needs a real Kafka"))
    func `altering lowers no retention that was not asked for, and keeps the total size`() async throws {
        let cluster = try await KafkaCluster(.real)
        let prefix = cluster.name("topics")
        let (raw, letters) = ("\(prefix).raw", "\(prefix).dead-letter")
        func kept() async throws -> [String?] {
            try await KafkaAdmin.with(cluster.client) { admin in
                let names = [raw, letters]
                let found = try await admin.topicConfigurations(names, deadline: .hopeless)
                return [
                    found.value?[raw]?["retention.ms"]?.value, found.value?[letters]?["retention.ms"]?.value,
                    found.value?[letters]?["retention.bytes"]?.value,
                ]
            }
        }
        let month = ["--partitions=2", "--retention=30d"]
        let letterOptions = ["--dead-letter-retention=800d", "--dead-letter-size=100GiB"]
        #expect(await topics(cluster, month + letterOptions) == 0)
        let made = [String(30 * 86_400_000), String(800 * 86_400_000), String(50 << 30)]
        #expect(try await kept() == made)
        #expect(await topics(cluster, ["--alter"]) == 0)
        #expect(!transcript.output.contains("altered"), "\(transcript.output)")
        #expect(try await kept() == made)
        #expect(await topics(cluster, ["--dead-letter-size=64GiB", "--alter"]) == 0)
        #expect(try await kept() == [made[0], made[1], String(32 << 30)])
    }

    @Test(.enabled(if: RealKafka.isAvailable, "needs a real Kafka"))
    func `more copies than brokers are refused with the number that fits`() async throws {
        let cluster = try await KafkaCluster(.real)
        #expect(await topics(cluster, "--replication=9") == 64)
        let found = try #require(transcript.notes.firstMatch(of: /--replication (\d) is the most/))
        #expect(await topics(cluster, "--replication=\(found.1)") == 0)
    }

    @Test(arguments: [(1, 1), (2, 2), (3, 3), (7, 3)])
    func `without the option there are three copies, or as many as brokers`(brokerCount: Int, expected: Int16) {
        var layout = TopicLayout()
        #expect(layout.fitting(brokerCount: brokerCount).replication == expected)
        layout.replication = 5
        #expect(layout.fitting(brokerCount: brokerCount).replication == 5)
    }

    @Test(.needsRealKafka) func `a codec of the writer's is harmful to topics and status, and altered`() async throws {
        let cluster = try await KafkaCluster(.real)
        #expect(await topics(cluster, "--partitions=2") == 0)
        let admin = try KafkaAdmin(configuration: cluster.client)
        var settings = Topic.requiredSettings(of: Topic.outcomes)
        settings["compression.type"] = "producer"
        let prefix = cluster.name("other")
        let name = "\(prefix).outcomes"
        let topic = NewTopic(name: name, partitions: 2, replication: 1, configuration: settings)
        #expect(try await admin.createTopics([topic], deadline: .seconds(20)).isEmpty)
        await admin.close()
        func pipeline(_ command: String, _ options: String...) async -> Int32 {
            await PipelineTool.tool.run(
                [command, "--prefix", "\(prefix)."] + options, ["KAFKA_BOOTSTRAP": cluster.bootstrapServers],
                on: transcript)
        }
        let harm = "\(name): compression.type is producer, planned uncompressed"
        #expect(await pipeline("topics", "--partitions=2") == 1)
        #expect(transcript.output.contains("HARMFUL    \(harm)"), "\(transcript.output)")
        #expect(await pipeline("status") == 1)
        #expect(transcript.output.contains("HARMFUL: \(harm)"), "\(transcript.output)")
        #expect(await pipeline("topics", "--partitions=2", "--alter") == 0)
        #expect(await pipeline("status") == 0)
        #expect(!transcript.output.hasSuffix("HARMFUL: \(harm)\n"), "\(transcript.output)")
    }

    @Test(.enabled(if: RealKafka.isAvailable, "needs a real Kafka"))
    func `a topic that takes less than a record at the limit ends with 1`() async throws {
        let cluster = try await KafkaCluster(.real)
        let admin = try KafkaAdmin(configuration: cluster.client)
        let topic = NewTopic(
            name: cluster.name("topics") + ".raw", partitions: 8, replication: 1,
            configuration: ["max.message.bytes": "1000"])
        #expect(try await admin.createTopics([topic], deadline: .hopeless).isEmpty)
        await admin.close()
        #expect(await topics(cluster) == 1)
        #expect(transcript.output.contains("HARMFUL"))
        #expect(await topics(cluster, "--alter") == 0)
    }
}
