/// Where a client reports what no call of ours asked for.
///
/// They are called on librdkafka's own threads and must return at once.
package struct KafkaHandlers: Sendable {
    package var onLog: @Sendable (KafkaLogLine) -> Void
    package var onError: @Sendable (KafkaError) -> Void
    /// librdkafka's statistics as JSON, where `statistics.interval.ms` is set.
    package var onStatistics: @Sendable (String) -> Void

    package init(
        onLog: @escaping @Sendable (KafkaLogLine) -> Void = { _ in },
        onError: @escaping @Sendable (KafkaError) -> Void = { _ in },
        onStatistics: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.onLog = onLog
        self.onError = onError
        self.onStatistics = onStatistics
    }
}
