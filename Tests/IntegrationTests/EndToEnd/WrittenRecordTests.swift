import JSON
import Kafka
import Records
import Testing
import TestSupport
import Simulation
import Topology
import Worker

extension PipelineTests {
    /// The workers' real records, compared with the published schemas.
    @Suite(.timeLimit(.minutes(10))) struct WrittenRecordTests {
        @Test(arguments: KafkaCluster.Kind.available, Topology.stages.compactMap(\.outputTopic))
        func `every observation fits its topic's schema`(kind: KafkaCluster.Kind, topic: String) async throws {
            let records = try await EndToEndRun.of(kind).topics[topic] ?? []
            #expect(records.count > 100)
            let verdict = try PublishedSchema.topics.validate(records.compactMap(\.value), against: topic)
            #expect(verdict.isValid, "\(verdict.report.prefix(2_000))")
        }

        @Test(arguments: KafkaCluster.Kind.available) func `the headers of every dead letter fit the schema`(
            kind: KafkaCluster.Kind
        ) async throws {
            let records = try await EndToEndRun.of(kind).topics[Topic.deadLetter] ?? []
            #expect(records.count > 20)
            let verdict = try PublishedSchema.topics.validate(records.map(Self.added), against: Topic.deadLetter)
            #expect(verdict.isValid, "\(verdict.report.prefix(2_000))")
        }

        @Test(arguments: KafkaCluster.Kind.available) func `correlation travels from the raw topic to the last one`(
            kind: KafkaCluster.Kind
        ) async throws {
            let run = try await EndToEndRun.of(kind)
            let sent = Set(
                run.traffic.items.filter { $0.expectedRefusal == nil }.flatMap(\.headers).filter {
                    $0.name == "correlation-id"
                }.map(\.value))
            #expect(sent.count > 50)
            for topic in Topology.stages.compactMap(\.outputTopic) {
                let arrived = (run.topics[topic] ?? []).flatMap(\.headers).filter { $0.name == "correlation-id" }.map(
                    \.value)
                #expect(Set(arrived) == sent, "\(topic)")
            }
        }

        private static func added(_ record: ConsumerRecord) -> [UInt8] {
            var writer = JSONWriter()
            writer.object { writer in
                for header in record.headers where header.name.hasPrefix("dlq.") {
                    writer.key(header.name)
                    writer.string(utf8: header.value ?? [])
                }
            }
            return writer.bytes
        }
    }
}
