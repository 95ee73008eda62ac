import AppStore
package import Kafka
import Records
import Synchronization

/// The largest record that the producer and each topic accept, as far as that is known.
///
/// A record with an output that is too large is refused whole, before any of its outputs is sent.
/// The broker is asked again before that, as the limit may have been raised. Records are tried if
/// the broker does not report a topic's limit.
package final class OutputLimits: Sendable {
    private struct State {
        /// `max.message.bytes`, where the broker reported it.
        var topics: [String: Int] = [:]
        /// The largest record that was tried alone and taken, where it did not.
        var taken: [String: Int] = [:]
        /// Counts the changes of the limits.
        var version = 0
        /// Requests the limits from the broker; nil before there is a client.
        var source: Source?
        /// The request in flight.
        var asking: Task<Void, Never>?
        /// An answer from before this instant counts as current.
        var asksAgainAt = ContinuousClock.now
    }

    /// The configurations of the topics; nil if no broker has answered.
    package typealias Source = @Sendable () async -> [String: [String: TopicSetting]]?

    /// Time between two questions, so that many large records cause few questions.
    private static let askInterval = Duration.milliseconds(250)
    /// Time until the next question after an unanswered one, which costs its whole deadline.
    private static let unansweredInterval = Duration.seconds(10)

    private let producerBytesMax: Int
    private let state = Mutex(State())

    /// - Parameter producerProperties: as the producer gets them, without its own defaults.
    package init(producerProperties: [String: String]) {
        let name = "message.max.bytes"
        let text = producerProperties[name] ?? KafkaProducer.defaults[name]
        producerBytesMax = text.flatMap { Int($0) } ?? .max
    }

    /// Reads the configurations of topics; what they do not name stays as it was known.
    package func read(_ settings: [String: [String: TopicSetting]]) {
        let limits = settings.compactMapValues { topic in topic["max.message.bytes"].flatMap { Int($0.value) } }
        state.withLock { state in
            let former = state.topics
            state.topics.merge(limits) { $1 }
            if state.topics != former { state.version += 1 }
        }
    }

    package func setSource(_ source: @escaping Source) { state.withLock { $0.source = source } }

    /// The topics' `max.message.bytes`, where the broker reported it.
    var known: [String: Int] { state.withLock { $0.topics } }

    /// Changes whenever another limit is reported than was known.
    package var version: Int { state.withLock { $0.version } }

    /// Requests the limits from the broker again, unless it was asked a moment ago; without an
    /// answer the known ones stay.
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
    /// It looks a topic's limit up once for all records that follow each other, so that a changed
    /// limit may count from the next batch on.
    package struct Reader {
        private let limits: OutputLimits
        private var last: (topic: String, bytesMax: Int)?

        fileprivate init(limits: OutputLimits) { self.limits = limits }

        /// The verdict itself where all its outputs are allowed, else that the record is too large.
        package mutating func checked(_ verdict: Verdict) -> Verdict {
            guard let index = firstForbidden(among: verdict.outputs) else { return verdict }
            return .tooLarge(for: verdict.outputs[index].topic)
        }

        /// The first output that is larger than its topic accepts.
        mutating func firstForbidden(among outputs: [ProducerRecord]) -> Int? {
            for index in outputs.indices where !allows(outputs[index]) { return index }
            return nil
        }

        /// Whether nothing is known that forbids the record.
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

    /// Whether the topic's limit is unknown and the record is larger than any that it accepted.
    func isUntried(_ record: ProducerRecord) -> Bool {
        state.withLock { state in
            state.topics[record.topic] == nil && record.batchBytesMax > state.taken[record.topic] ?? 0
        }
    }

    /// Records that the topic has accepted the record.
    func taken(_ record: ProducerRecord) {
        state.withLock { state in state.taken[record.topic] = max(state.taken[record.topic] ?? 0, record.batchBytesMax)
        }
    }
}

extension Verdict {
    /// A record with an output larger than its topic accepts: none of its outputs is sent.
    static func tooLarge(for topic: String) -> Verdict {
        .deadLettered(Refusal(reason: .payloadTooLarge, detail: "the topic \(topic) takes no record of this size"))
    }
}
