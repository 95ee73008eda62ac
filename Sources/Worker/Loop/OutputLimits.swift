import AppStore
package import Kafka
import Synchronization

/// The largest record that the producer and each topic accept, as far as that is known.
///
/// So a record of which one output is too large is refused whole, before any of its outputs is
/// sent. Where the broker does not report a topic's limit, records are tried.
package final class OutputLimits: Sendable {
    private struct State {
        /// `max.message.bytes`, where the broker reported it.
        var topics: [String: Int] = [:]
        /// The largest record that was tried alone and taken, where it did not.
        var taken: [String: Int] = [:]
    }

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
        let limits = settings.compactMapValues { topic in
            topic["max.message.bytes"].flatMap { Int($0.value) }
        }
        state.withLock { $0.topics.merge(limits) { $1 } }
    }

    /// Whether nothing is known that forbids the record.
    package func allows(_ record: ProducerRecord) -> Bool {
        let topicBytesMax = state.withLock { $0.topics[record.topic] } ?? .max
        return record.batchBytesMax <= min(producerBytesMax, topicBytesMax)
    }

    /// Whether the topic's limit is unknown and the record is larger than any that it accepted.
    func isUntried(_ record: ProducerRecord) -> Bool {
        state.withLock { state in
            state.topics[record.topic] == nil
                && record.batchBytesMax > state.taken[record.topic] ?? 0
        }
    }

    /// The topic has taken the record.
    func taken(_ record: ProducerRecord) {
        state.withLock { state in
            state.taken[record.topic] = max(state.taken[record.topic] ?? 0, record.batchBytesMax)
        }
    }
}

extension Verdict {
    /// The verdict itself where all its outputs are allowed, else that the record is too large.
    package func within(_ limits: OutputLimits) -> Verdict {
        guard let output = outputs.first(where: { !limits.allows($0) }) else { return self }
        return .tooLarge(for: output.topic)
    }

    /// A record of which an output is larger than its topic accepts: none of its outputs goes on.
    static func tooLarge(for topic: String) -> Verdict {
        .deadLettered(
            Refusal(
                reason: .payloadTooLarge,
                detail: "the topic \(topic) takes no record of this size"
            )
        )
    }
}
