import Kafka

/// The headers that a dead letter added, as text by name.
struct HeaderTexts {
    private let texts: [String: String]

    init(_ headers: [KafkaHeader]) {
        var texts: [String: String] = [:]
        for header in headers where header.movedBack == nil {
            texts[header.name] = header.value.map { String(decoding: $0, as: UTF8.self) }
        }
        self.texts = texts
    }

    subscript(_ name: String) -> String? {
        texts[name]
    }

    func required(_ name: String) throws(DeadLetterError) -> String {
        guard let text = texts[name], !text.isEmpty else { throw DeadLetterError(header: name) }
        return text
    }

    func number(_ name: String) -> Int64? {
        texts[name].flatMap { Int64($0) }
    }

    func position(_ topic: String, _ partition: String, _ offset: String) -> RecordPosition? {
        guard let topic = texts[topic], let partition = number(partition),
            let offset = number(offset), let partition = Int32(exactly: partition)
        else { return nil }
        return RecordPosition(topic: topic, partition: partition, offset: offset)
    }

    var identifiers: DeadLetterIdentifiers {
        var identifiers = DeadLetterIdentifiers()
        identifiers.transactionID = texts[DeadLetterHeader.transactionID]
        identifiers.originalTransactionID = texts[DeadLetterHeader.originalTransactionID]
        identifiers.bundleID = texts[DeadLetterHeader.bundleID]
        identifiers.environment = texts[DeadLetterHeader.environment]
        identifiers.productID = texts[DeadLetterHeader.productID]
        identifiers.signedDate = texts[DeadLetterHeader.signedDate]
        return identifiers
    }
}
