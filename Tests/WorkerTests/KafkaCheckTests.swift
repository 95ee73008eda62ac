import Kafka
import Settings
import TestSupport
import Testing
import Worker

@Suite(.timeLimit(.minutes(10))) struct KafkaCheckTests {
    @Test(arguments: KafkaCluster.Kind.available)
    func `all that is wrong with the topics is listed`(kind: KafkaCluster.Kind) async throws {
        let cluster = try await KafkaCluster(kind)
        let raw = try await cluster.topic("raw", partitions: 3)
        let letters = try await cluster.topic("letters")
        let findings = await KafkaCheck.findings(
            cluster.client,
            needs: [
                .init(topic: raw), .init(topic: cluster.name("missing")),
                .init(topic: letters, isOfDeadLetters: true),
            ],
            group: (cluster.name("group"), [raw])
        )
        let transcript = ConsoleTranscript()
        let code = findings.report(of: "verify-worker", on: transcript.console())
        let text = transcript.output
        #expect(text.contains(#/ok     Kafka: \d+ brokers? at /#), "\(text)")
        #expect(text.contains("topic \(raw): 3 partitions") || kind == .real, "\(text)")
        let missing = "WRONG  topic \(cluster.name("missing")): missing or not authorized: "
        #expect(text.contains(missing + "create it with 'pipeline topics'"), "\(text)")
        #expect(text.contains("ok     group \(cluster.name("group"))"), "\(text)")
        // The real broker takes records of 1 MB unless its topics say otherwise.
        let expected = kind == .real ? ExitCode.configuration : ExitCode.unavailable
        #expect(code == expected, "\(text)")
        #expect((kind == .real) == text.contains("max.message.bytes is "), "\(text)")
    }

    @Test func `brokers that do not answer end with 69, and are named with the setting`() async {
        let findings = await KafkaCheck.findings(
            ["bootstrap.servers": "127.0.0.1:1"],
            needs: [.init(topic: "storekit.raw")]
        )
        let transcript = ConsoleTranscript()
        #expect(findings.report(of: "x", on: transcript.console()) == ExitCode.unavailable)
        #expect(transcript.output.contains("no answer from 127.0.0.1:1"))
        #expect(transcript.output.contains("KAFKA_BOOTSTRAP"))
    }

    @Test func `properties that librdkafka refuses end with 78`() async {
        let findings = await KafkaCheck.findings(
            ["bootstrap.servers": "127.0.0.1:1", "security.protocol": "none"],
            needs: []
        )
        #expect(findings.report(of: "x", on: ConsoleTranscript().console()) == 78)
    }
}
