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

    package func reader() -> Reader { Reader(limits: self) }

    /// For one batch: looks a topic's limit up once for all records that follow each other, so that
    /// a limit that changes meanwhile may count from the next batch on.
    package struct Reader {
        private let limits: OutputLimits
        private var last: (topic: String, bytesMax: Int)?

        fileprivate init(limits: OutputLimits) {
            self.limits = limits
        }

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
            if let last, last.topic == record.topic {
                return record.batchBytesMax <= last.bytesMax
            }
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
