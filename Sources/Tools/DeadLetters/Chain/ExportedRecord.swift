import Foundation
import JSON
import Kafka
import Records

/// A record of the dead-letter topic as a line of an export, complete and uninterpreted.
enum ExportedRecord {
    /// Maximum length of a line: a record at the topic's limit, in base64 and with escapes.
    static let lineBytesMax = 16 << 20

    /// - Parameter keepsOriginal: whether to write the original's key, value and headers; the link
    ///   can be verified without them.
    static func line(_ record: ConsumerRecord, keepsOriginal: Bool) -> [UInt8] {
        var writer = JSONWriter(reserving: record.payloadBytes * 3 / 2 + 512)
        writer.object { writer in
            writer.position(RecordPosition(record))
            writer.optionalInt("timestamp", record.timestampMilliseconds)
            writer.key("original")
            writer.bool(keepsOriginal)
            if keepsOriginal {
                writer.base64("key", record.key)
                writer.base64("value", record.value)
            }
            writer.key("headers")
            writer.array { writer in
                for header in record.headers where keepsOriginal || header.isOfDeadLetter {
                    writer.object { writer in
                        writer.base64("name", header.nameBytes)
                        writer.base64("value", header.value)
                    }
                }
            }
        }
        return writer.bytes
    }

    /// Reads the output of `line`.
    static func read(_ line: [UInt8]) throws(ExportFault) -> (record: ConsumerRecord, hasOriginal: Bool) {
        let root = try JSONValue.exported(line)
        let topic = try root.requiredText("topic")
        let partition = try root.required("partition", "a number of 32 bits") { value in
            value.int64.flatMap { Int32(exactly: $0) }
        }
        let offset = try root.requiredNumber("offset")
        let hasOriginal = try root.requiredBool("original")
        let list = try root.requiredList("headers")
        var headers: [KafkaHeader] = []
        for header in list.elements {
            do throws(ExportFault) {
                guard let name = try header.base64("name") else { throw ExportFault(text: "has null for \"name\"") }
                headers.append(KafkaHeader(nameBytes: name, value: try header.base64("value")))
            } catch { throw ExportFault(text: "has a header, number \(headers.count + 1), that \(error.text)") }
        }
        let record = ConsumerRecord(
            topicPartition: TopicPartition(topic: topic, partition: partition), offset: offset,
            timestampMilliseconds: root["timestamp"]?.int64, key: hasOriginal ? try root.base64("key") : nil,
            value: hasOriginal ? try root.base64("value") : nil, headers: headers)
        return (record, hasOriginal)
    }
}

extension KafkaHeader {
    /// Whether the worker that refused the record added the header.
    fileprivate var isOfDeadLetter: Bool {
        nameBytes.starts(with: DeadLetterHeader.prefix.utf8)
            && !nameBytes.starts(with: DeadLetterHeader.originalPrefix.utf8)
    }
}

extension JSONWriter {
    fileprivate mutating func base64(_ name: StaticString, _ bytes: [UInt8]?) {
        key(name)
        if let bytes { string(Data(bytes).base64EncodedString()) } else { null() }
    }
}

extension JSONValue {
    /// The bytes of a member.
    ///
    /// `nil` if the member is null.
    fileprivate func base64(_ name: String) throws(ExportFault) -> [UInt8]? {
        guard self[name]?.isNull != true else { return nil }
        return try required(name, "base64") { member in
            member.string.flatMap { Data(base64Encoded: $0) }.map { Array($0) }
        }
    }
}
