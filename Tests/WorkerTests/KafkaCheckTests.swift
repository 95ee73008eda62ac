import Kafka
import Records
import Settings
import TestSupport
import Testing
import Worker

@Suite(.timeLimit(.minutes(10))) struct KafkaCheckTests {
    @Test(arguments: KafkaCluster.Kind.available) func `all that is wrong with the topics is listed`(
        kind: KafkaCluster.Kind
    ) async throws {
        let cluster = try await KafkaCluster(kind)
        let raw = try await cluster.topic("raw", partitions: 3)
        let letters = try await cluster.topic("letters")
        let findings = await KafkaCheck.findings(
            cluster.client,
            needs: [Self.need(raw), Self.need(cluster.name("missing")), Self.need(letters, as: Topic.deadLetter)],
            group: (cluster.name("group"), [raw]))
        let outcome = findings.outcome(of: "verify-worker")
        let text = outcome.output
        #expect(text.contains(#/ok     Kafka: \d+ broker\(s\) at /#), "\(text)")
        #expect(text.contains("topic \(raw): 3 partition(s)") || kind == .real, "\(text)")
        let missing = "WRONG  topic \(cluster.name("missing")): missing or not authorized: "
        #expect(text.contains(missing + "create it with 'pipeline topics'"), "\(text)")
        #expect(text.contains("ok     group \(cluster.name("group"))"), "\(text)")
        // The real broker takes records of 1 MB unless its topics say otherwise.
        let expected = kind == .real ? ExitCode.configuration : ExitCode.unavailable
        #expect(outcome.exitCode == expected, "\(text)")
        #expect((kind == .real) == text.contains("max.message.bytes is "), "\(text)")
    }

    private static func need(_ topic: String, as name: String = Topic.raw) -> TopicNeed {
        TopicNeed(topic, Topic.requiredSettings(of: name))
    }

    @Test(
        .needsRealKafka,
        arguments: [
            ("cleanup.policy", "compact", "delete"), ("compression.type", "producer", "uncompressed"),
            ("compression.type", "lz4", "uncompressed"), ("message.timestamp.type", "CreateTime", "LogAppendTime"),
            ("unclean.leader.election.enable", "true", "false"), ("max.message.bytes", "2097151", "2097152"),
        ]) func `a topic that status calls harmful is wrong`(setting: String, found: String, expected: String)
        async throws
    {
        let cluster = try await KafkaCluster(.real)
        var settings = Topic.requiredSettings(of: Topic.raw)
        let good = try await cluster.topic("good", configuration: settings)
        settings[setting] = found
        let harmful = try await cluster.topic("harmful", configuration: settings)
        let findings = await KafkaCheck.findings(cluster.client, needs: [Self.need(good), Self.need(harmful)])
        let outcome = findings.outcome(of: "verify-worker")
        #expect(outcome.exitCode == ExitCode.configuration)
        #expect(outcome.output.contains("ok     topic \(good): 1 partition(s)\n"))
        let line = "WRONG  topic \(harmful): \(setting) is \(found), planned \(expected): "
        #expect(outcome.output.contains(line + "run 'pipeline topics --alter'"))
    }

    @Test func `brokers that do not answer end with 69, and are named with the setting`() async {
        let findings = await KafkaCheck.findings(
            ["bootstrap.servers": "127.0.0.1:1"], needs: [Self.need("storekit.raw")])
        let outcome = findings.outcome(of: "x")
        #expect(outcome.exitCode == ExitCode.unavailable)
        #expect(outcome.output.contains("no answer from 127.0.0.1:1"))
        #expect(outcome.output.contains("KAFKA_BOOTSTRAP"))
    }

    @Test func `properties that librdkafka refuses end with 78`() async {
        let findings = await KafkaCheck.findings(
            ["bootstrap.servers": "127.0.0.1:1", "security.protocol": "none"], needs: [])
        #expect(findings.outcome(of: "x").exitCode == 78)
    }
}
