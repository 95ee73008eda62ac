package import AppStore
package import Kafka

/// A dead letter without its original, for lists and counts.
package struct DeadLetter: Sendable, Equatable {
    package let id: String

    /// The reason as written, so that unknown reasons of later versions are shown too.
    package let reason: String
    package let deadLetterClass: String
    package let detail: String
    package let stage: String
    package let value: DeadLetterValue

    /// The other omitted parts of a too large letter: `key`, `headers`, or both.
    package let omitted: String?
    package let source: RecordPosition
    package let sourceTimestamp: Timestamp?
    package let sourceSHA256: String

    /// The digest of the source's key and headers; empty if an earlier version wrote the letter.
    package let sourceHeadSHA256: String

    /// The letter's link in the chain of the source's partition, as written; empty without a link.
    package let chainSHA256: String

    /// The position of the observation's body.
    ///
    /// `nil` if the source is the body.
    package let raw: RecordPosition?
    /// The unverified identifiers in the original, only for search.
    package let identifiers: UnverifiedIdentifiers

    /// The certificate chain as JSON, as written.
    package let chain: String?
    package let verifierVersion: String
    package let configurationSHA256: String
    package let attempt: Int
    package let worker: String

    /// The time of the failure, which is the dead letter's timestamp.
    package let failedAt: Timestamp

    package let position: RecordPosition

    package init(decoding record: ConsumerRecord) throws(DeadLetterError) {
        let headers = DeadLetterHeaders(record.headers)
        id = try headers.required(DeadLetterHeader.id)
        reason = try headers.required(DeadLetterHeader.reason)
        stage = try headers.required(DeadLetterHeader.stage)
        guard
            let source = headers.position(
                DeadLetterHeader.sourceTopic, partition: DeadLetterHeader.sourcePartition,
                offset: DeadLetterHeader.sourceOffset)
        else { throw DeadLetterError(header: DeadLetterHeader.sourceTopic) }
        self.source = source
        raw = headers.position(
            DeadLetterHeader.rawTopic, partition: DeadLetterHeader.rawPartition, offset: DeadLetterHeader.rawOffset)
        let state = headers[DeadLetterHeader.value].flatMap(DeadLetterValue.init)
        guard let state else { throw DeadLetterError(header: DeadLetterHeader.value) }
        value = state
        omitted = headers[DeadLetterHeader.omitted]
        deadLetterClass = headers[DeadLetterHeader.deadLetterClass] ?? ""
        detail = headers[DeadLetterHeader.detail] ?? ""
        sourceTimestamp = headers.number(DeadLetterHeader.sourceTimestamp).map(Timestamp.init(milliseconds:))
        sourceSHA256 = headers[DeadLetterHeader.sourceSHA256] ?? ""
        sourceHeadSHA256 = headers[DeadLetterHeader.sourceHeadSHA256] ?? ""
        chainSHA256 = headers[DeadLetterHeader.chainSHA256] ?? ""
        chain = headers[DeadLetterHeader.chain]
        verifierVersion = headers[DeadLetterHeader.verifierVersion] ?? ""
        configurationSHA256 = headers[DeadLetterHeader.configurationSHA256] ?? ""
        attempt = headers.number(DeadLetterHeader.attempt).map(Int.init) ?? 1
        worker = headers[DeadLetterHeader.worker] ?? ""
        identifiers = UnverifiedIdentifiers(headers)
        failedAt = Timestamp(milliseconds: record.timestampMilliseconds ?? 0)
        position = RecordPosition(record)
    }
}

/// The original in a dead letter; a replay sends its bytes unchanged.
package struct DeadLetterOriginal: Sendable, Equatable {
    package let key: [UInt8]?
    package let value: [UInt8]?
    package let headers: [KafkaHeader]

    package init(_ record: ConsumerRecord) {
        key = record.key
        value = record.value
        headers = record.headers.compactMap(\.movedBack)
    }
}

/// The error for a record of the dead-letter topic that is not a dead letter.
package struct DeadLetterError: Error, Equatable, Sendable { package let header: String }

/// The text of the headers that a dead letter adds, by name.
struct DeadLetterHeaders {
    private let texts: [String: String]

    init(_ headers: [KafkaHeader]) {
        var texts: [String: String] = [:]
        for header in headers where header.movedBack == nil {
            texts[header.name] = header.value.map { String(decoding: $0, as: UTF8.self) }
        }
        self.texts = texts
    }

    subscript(_ name: String) -> String? { texts[name] }

    func required(_ name: String) throws(DeadLetterError) -> String {
        guard let text = texts[name], !text.isEmpty else { throw DeadLetterError(header: name) }
        return text
    }

    func number(_ name: String) -> Int64? { texts[name].flatMap { Int64($0) } }

    func position(_ topic: String, partition: String, offset: String) -> RecordPosition? {
        guard let topic = texts[topic], let partition = number(partition), let offset = number(offset),
            let partition = Int32(exactly: partition), partition >= 0, KafkaBounds.offsets.contains(offset)
        else { return nil }
        return RecordPosition(topic: topic, partition: partition, offset: offset)
    }
}
