import AppStore
import JSON
package import Kafka
import OpenSSL
package import Records
package import Store

extension DeadLetterRow {
    /// The indexed part of a dead letter.
    ///
    /// - Parameter record: the letter's record; its value is not read.
    package init(_ letter: DeadLetter, _ record: ConsumerRecord) {
        self.init(
            id: letter.id, letterPartition: letter.position.partition, letterOffset: letter.position.offset,
            failedAt: letter.failedAt, reason: letter.reason, deadLetterClass: letter.deadLetterClass,
            stage: letter.stage, detail: letter.detail, valueState: letter.value.rawValue,
            source: Source(position: letter.source, at: letter.sourceTimestamp, sha256: letter.sourceSHA256),
            identifiers: letter.identifiers, certificates: Certificates(chain: letter.chain),
            verifierVersion: letter.verifierVersion, configurationSHA256: letter.configurationSHA256,
            attempt: Int64(letter.attempt), worker: letter.worker)
        omitted = letter.omitted
        raw = letter.raw
        let link = ChainLetter(letter, record, hasOriginal: false)
        contentsSHA256 = link?.contents.hex ?? ""
        doubt = link == nil ? ChainLetter.unchainedText : link?.problem?.text
        for header in record.headers {
            guard let text = header.value.map({ String(decoding: $0, as: UTF8.self) }) else { continue }
            switch header.nameBytes {
            case Self.replayOfHeader: replayOf = Self.harmless(text)
            case Self.chainHeader: chainSHA256 = text
            case Self.previousHeader: chainPrevious = text
            default:
                if producer == nil, RecordHeader.producer.contains(header.nameBytes), !text.isEmpty {
                    producer = Self.harmless(text)
                }
            }
        }
    }

    /// The letter's position in the dead-letter topic.
    ///
    /// - Parameter topic: the dead-letter topic's name.
    package func position(in topic: String) -> RecordPosition {
        RecordPosition(topic: topic, partition: letterPartition, offset: letterOffset)
    }

    /// Decodes a dead letter.
    ///
    /// `nil` for a record that is no dead letter.
    package init?(_ record: ConsumerRecord) {
        guard let letter = try? DeadLetter(decoding: record) else { return nil }
        self.init(letter, record)
    }

    /// Text from an untrusted header of the original.
    ///
    /// `nil` unless it is harmless.
    private static func harmless(_ text: String) -> String? { UnverifiedText.isHarmless(text.utf8) ? text : nil }

    private static let replayOfHeader = Array(
        DeadLetterHeader.replayOf.replacing(
            DeadLetterHeader.prefix, with: DeadLetterHeader.originalPrefix, maxReplacements: 1
        ).utf8)
    private static let chainHeader = Array(DeadLetterHeader.chainSHA256.utf8)
    private static let previousHeader = Array(DeadLetterHeader.previous.utf8)
}

extension DeadLetterRow.Certificates {
    /// - Parameter chain: the header `dlq.chain`; without it, or with other JSON, there are no certificates.
    init(chain: String?) {
        self.init()
        guard let chain, let document = try? JSONDocument(parsing: Array(chain.utf8)) else { return }
        func fingerprint(_ role: String) -> String? { document.root[role]?["sha256"]?.string?.lowercased() }
        leaf = fingerprint("leaf")
        intermediate = fingerprint("intermediate")
        root = fingerprint("root")
    }
}
