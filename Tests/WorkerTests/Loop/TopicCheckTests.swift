import Testing

@testable import Kafka
@testable import Worker

@Suite struct TopicCheckTests {
    private let check = TopicCheck(
        WorkerConfiguration(
            stage: .fake, inputTopics: ["raw"], outputTopics: ["verified"], nextTopic: "verified",
            deadLetterTopic: "dead-letter", consumerProperties: [:], producerProperties: [:]))

    @Test func `every topic that takes too small records is named`() {
        let found = check.tooSmall(["raw": 2_097_152, "verified": 2_097_151, "dead-letter": 2_097_152])
        #expect(
            found == [
                .tooSmall(topic: "verified", recordBytes: 2_097_151, recordBytesMin: 2 << 20),
                .tooSmall(topic: "dead-letter", recordBytes: 2_097_152, recordBytesMin: 3 << 20),
            ])
    }

    @Test func `missing topics are named that nobody else would name`() {
        let metadata = ClusterMetadata(
            brokerIDs: [1], topics: [TopicMetadata(name: "verified", partitionCount: 1, error: nil)])
        #expect(check.missing(in: metadata) == [.missing(topic: "dead-letter")])
    }

    @Test func `topics as they should be are passed over`() {
        #expect(check.tooSmall(["raw": 2_097_152, "verified": 2_097_152, "dead-letter": 3_145_728]).isEmpty)
    }
}
