import Kafka
import Operations
import TestSupport
import Testing

@Suite struct StatusCommandTests {
    @Test func `what waits is reported with its age, and what the mock does not answer once`()
        async throws
    {
        let cluster = try MockCluster()
        for plan in TopicLayout().plans {
            try cluster.createTopic(plan.name, partitions: 2)
        }
        let client = ["bootstrap.servers": cluster.bootstrapServers]
        let producer = try KafkaProducer(configuration: client)
        let records = (0..<3).map { ProducerRecord(topic: "storekit.raw", value: [$0]) }
        #expect(await producer.send(records).isComplete)
        await producer.close(deadline: .seconds(5))

        let transcript = ConsoleTranscript()
        let code = await PipelineTool.tool.run(
            ["status"],
            in: CommandContext(
                console: transcript.console(),
                environment: ["KAFKA_BOOTSTRAP": cluster.bootstrapServers],
                executables: "/nowhere"
            )
        )
        #expect(code == 0)
        #expect(transcript.output.contains(/verify +storekit.raw +0 +3 +\d+ (ms|s)/))
        #expect(transcript.output.contains(/dedupe +storekit.verified +0 +0 +-\s/))
        #expect(transcript.output.matches(of: /not answered by the brokers/).count == 1)
    }
}
