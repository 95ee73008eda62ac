/// The answer to a question that a broker may not know: an old one, or librdkafka's mock.
package enum KafkaAnswer<Value: Sendable>: Sendable {
    case answered(Value)
    /// The broker does not know the question, or does not let this client ask it.
    case unanswered(KafkaError)

    package var value: Value? {
        guard case .answered(let value) = self else { return nil }
        return value
    }
}

extension KafkaAnswer: Equatable where Value: Equatable {}
