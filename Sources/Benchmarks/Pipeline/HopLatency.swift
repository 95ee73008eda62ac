import AppStore
import Kafka
import Operations
import Records
import Topology
import Worker

/// How old the raw records were when each stage wrote what it made of them.
enum HopLatency {
    /// In milliseconds, by the stage that reads the topic; both timestamps are clients' clocks.
    ///
    /// - Parameter since: raw records from this time on, in milliseconds since 1970.
    static func measure(
        _ rig: PipelineRig,
        since: Int64,
        deadline: Duration
    ) async throws -> [StageDescription: [Double]] {
        let reader = TopicReader(rig.kafka)
        var ages: [StageDescription: [Double]] = [:]
        for stage in Topology.stages.dropFirst() {
            let topic = rig.layout.prefix + stage.inputTopic
            ages[stage] = try await reader.records(of: topic, deadline: deadline)
                .compactMap { age($0, since: since) }
                .sorted()
        }
        return ages
    }

    private static func age(_ record: ConsumerRecord, since: Int64) -> Double? {
        guard let written = record.timestampMilliseconds, written >= since,
            let observation = try? Observation(decoding: record.value),
            let source = observation.source?.timestamp?.milliseconds,
            source >= since
        else { return nil }
        return Double(written - source)
    }
}
