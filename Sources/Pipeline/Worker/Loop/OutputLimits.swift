import AppStore
package import Kafka
import Records
import Synchronization

/// The known maximum sizes of a record for the producer and each topic.
///
/// A record with a too large output is refused as a whole, before any of its outputs is sent. Before that, the broker
/// is asked again, because the limit may have been raised. If the broker does not report a topic's limit, the worker
/// tests the limit by sending the record.
package final class OutputLimits: Sendable {
    private struct State {
        /// The topics' `max.message.bytes`, if the broker reported it.
        var topics: [String: Int] = [:]
        /// The largest record that was sent alone and accepted, for topics without a reported limit.
        var taken: [String: Int] = [:]
        /// Number of changes of the limits.
        var version = 0
        /// A function that requests the limits from the broker.
        ///
        /// `nil` before there is a client.
        var source: Source?
        /// The request in flight.
        var asking: Task<Void, Never>?
        /// The earliest time of the next request; until then the last answer counts as current.
        var asksAgainAt = ContinuousClock.now
    }

    /// A function that requests the configurations of the topics; its result is `nil` if no broker has answered.
    package typealias Source = @Sendable () async -> [String: [String: TopicSetting]]?

    /// Minimum time between two requests, so that many large records cause few requests.
    private static let askInterval = Duration.milliseconds(250)
    /// Time until the next request after an unanswered one, which takes its whole deadline.
    private static let unansweredInterval = Duration.seconds(10)

    private let producerBytesMax: Int
    private let state = Mutex(State())

    /// - Parameter producerProperties: the producer's properties, without the producer's own defaults.
    package init(producerProperties: [String: String]) {
        let name = "message.max.bytes"
        let text = producerProperties[name] ?? KafkaProducer.defaults[name]
        producerBytesMax = text.flatMap { Int($0) } ?? .max
    }

    /// Reads the configurations of topics; limits of other topics stay unchanged.
    package func read(_ settings: [String: [String: TopicSetting]]) {
        let limits = settings.compactMapValues { topic in topic["max.message.bytes"].flatMap { Int($0.value) } }
        state.withLock { state in
            let former = state.topics
            state.topics.merge(limits) { $1 }
            if state.topics != former { state.version += 1 }
        }
    }

    package func setSource(_ source: @escaping Source) { state.withLock { $0.source = source } }

    /// The topics' `max.message.bytes`, if the broker reported it.
    var known: [String: Int] { state.withLock { $0.topics } }

    /// Number of changes of the limits, which grows with every new limit.
    package var version: Int { state.withLock { $0.version } }

    /// Requests the limits from the broker again, unless the last request is very recent; without an answer the known
    /// limits stay.
    package func askAgain() async {
        let asking: Task<Void, Never>? = state.withLock { state in
            if state.asking == nil, let source = state.source, state.asksAgainAt <= .now {
                state.asking = Task { await ask(source) }
            }
            return state.asking
        }
        await asking?.value
    }

    private func ask(_ source: Source) async {
        let settings = await source()
        if let settings { read(settings) }
        state.withLock { state in
            state.asking = nil
            state.asksAgainAt = .now + (settings == nil ? Self.unansweredInterval : Self.askInterval)
        }
    }

    package func reader() -> Reader { Reader(limits: self) }

    /// A reader of the limits for one batch.
    ///
    /// The reader looks a topic's limit up once for consecutive records of the topic, so a changed limit may apply
    /// only from the next batch on.
    package struct Reader {
        private let limits: OutputLimits
        private var last: (topic: String, bytesMax: Int)?

        fileprivate init(limits: OutputLimits) { self.limits = limits }

        /// Returns the verdict if all its outputs are allowed, else the verdict that the record is too large.
        package mutating func checked(_ verdict: Verdict) -> Verdict {
            guard let index = firstForbidden(among: verdict.outputs) else { return verdict }
            return .tooLarge(for: verdict.outputs[index].topic)
        }

        /// Returns the index of the first output that is larger than its topic accepts.
        mutating func firstForbidden(among outputs: [ProducerRecord]) -> Int? {
            for index in outputs.indices where !allows(outputs[index]) { return index }
            return nil
        }

        /// Whether no known limit forbids the record.
        private mutating func allows(_ record: ProducerRecord) -> Bool {
            if let last, last.topic == record.topic { return record.batchBytesMax <= last.bytesMax }
            let bytesMax = limits.bytesMax(of: record.topic)
            last = (record.topic, bytesMax)
            return record.batchBytesMax <= bytesMax
        }
    }

    private func bytesMax(of topic: String) -> Int {
        min(producerBytesMax, state.withLock { $0.topics[topic] } ?? .max)
    }

    /// Whether the topic's limit is unknown and the record is larger than any record that the topic accepted.
    func isUntried(_ record: ProducerRecord) -> Bool {
        state.withLock { state in
            state.topics[record.topic] == nil && record.batchBytesMax > state.taken[record.topic] ?? 0
        }
    }

    /// Stores that the topic has accepted the record.
    func taken(_ record: ProducerRecord) {
        state.withLock { state in state.taken[record.topic] = max(state.taken[record.topic] ?? 0, record.batchBytesMax)
        }
    }
}

extension Verdict {
    /// Returns the verdict on a record with an output larger than its topic accepts: none of its outputs is sent.
    static func tooLarge(for topic: String) -> Verdict {
        .deadLettered(Refusal(reason: .payloadTooLarge, detail: "the topic \(topic) takes no record of this size"))
    }
}
