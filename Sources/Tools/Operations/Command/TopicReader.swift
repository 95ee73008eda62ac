package import Kafka
import Settings

/// Reads partitions without a consumer group: commits nothing and disturbs no worker.
package struct TopicReader: Sendable {
    private static let answerDeadline = Duration.seconds(30)

    private let configuration: [String: String]

    /// - Parameter configuration: librdkafka properties for connecting to the cluster.
    package init(_ configuration: [String: String]) {
        self.configuration = configuration.merging(["client.id": PipelineTool.name]) { $1 }
    }

    /// Returns all records of a topic up to its present end, in the order of each partition, or
    /// none if the topic does not exist.
    package func records(of topic: String) async throws -> [ConsumerRecord] {
        var records: [ConsumerRecord] = []
        _ = try await visit(topic) { records.append($0) }
        return records
    }

    /// Passes every record of a topic up to its present end to `body`, in the order of each
    /// partition, and stores none.
    ///
    /// - Parameter progress: called with the number of read offsets and their total.
    /// - Returns: the number of offsets that retention has removed.
    func visit(_ topic: String, progress: TopicScan.Progress = { _, _ in }, _ body: (ConsumerRecord) throws -> Void)
        async throws -> Int64
    {
        let ranges = try await held(topic) ?? [:]
        try await visit(ranges, progress: progress, body)
        return ranges.removed
    }

    /// Passes every record of these ranges to `body`, in the order of each partition, and stores none.
    func visit(
        _ ranges: [TopicPartition: Range<Int64>], progress: TopicScan.Progress, _ body: (ConsumerRecord) throws -> Void
    ) async throws {
        try await TopicScan.with(configuration) { scan in
            try await scan.read(ranges, progress: progress) { try $0.forEach(body) }
        }
    }

    /// The offsets that each partition of a topic holds at present.
    ///
    /// `nil` if the topic does not exist.
    func held(_ topic: String) async throws -> [TopicPartition: Range<Int64>]? {
        try await KafkaAdmin.lend(configuration) { admin in
            let metadata = try await admin.metadata(deadline: Self.answerDeadline)
            guard let found = metadata[topic: topic], found.error == nil else { return nil }
            let marks = try await admin.listOffsets(found.partitions, deadline: Self.answerDeadline)
            return marks.mapValues { $0.low..<max($0.low, $0.high) }
        }
    }

    /// Whether the brokers report that they set the timestamps of a topic's records.
    func hasBrokersTimestamps(_ topic: String) async throws -> Bool {
        let answer = try await KafkaAdmin.lend(configuration) { admin in
            try await admin.topicConfigurations([topic], deadline: .seconds(5))
        }
        return answer.value?[topic]?["message.timestamp.type"]?.value == "LogAppendTime"
    }

    /// Returns the first record of each range that has records.
    package func first(in ranges: [TopicPartition: Range<Int64>]) async throws -> [ConsumerRecord] {
        var records: [ConsumerRecord] = []
        try await TopicScan.with(configuration) { scan in try await scan.read(ranges, firstOnly: true) { records += $0 }
        }
        return records
    }
}

extension [TopicPartition: Range<Int64>] {
    /// The number of offsets that retention has removed before these ranges.
    var removed: Int64 { values.reduce(0) { $0 + $1.lowerBound } }
}

extension KafkaAdmin {
    /// Runs `body` with a client, and closes the client even on an error.
    ///
    /// The error names the servers if none of them answers.
    package static func lend<T>(_ configuration: [String: String], _ body: (KafkaAdmin) async throws -> T) async throws
        -> T
    { try await namingServers(configuration) { try await with(configuration, body) } }

    /// Runs `body`; its error names the servers if none of them answers.
    static func namingServers<T>(_ configuration: [String: String], _ body: () async throws -> T) async throws -> T {
        do { return try await body() } catch let error as KafkaError where error.isSilence {
            let servers = configuration["bootstrap.servers"] ?? "the brokers"
            throw CommandError(ExitCode.unavailable, "no answer from Kafka at \(servers): \(error)")
        }
    }
}

extension KafkaError {
    /// Whether no server answered or could be reached.
    fileprivate var isSilence: Bool { [.transport, .allBrokersDown, .timedOut, .unauthenticated].contains(code) }
}
