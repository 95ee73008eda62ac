import Foundation
import JSON
import Kafka
import Records

/// One record of the dead-letter topic as a line of an export, complete and uninterpreted.
enum ExportedRecord {
    /// The longest line: a record at the topic's limit, in base64, with its escapes.
    static let lineBytesMax = 16 << 20

    /// - Parameter keepsOriginal: if false, the value and possible secrets are left out; the link
    ///   can be verified without them.
    static func line(_ record: ConsumerRecord, keepsOriginal: Bool) -> [UInt8] {
        var writer = JSONWriter(reserving: record.payloadBytes * 3 / 2 + 512)
        writer.object { writer in
            writer.position(
                topic: record.topicPartition.topic,
                partition: record.topicPartition.partition,
                offset: record.offset
            )
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

    /// Reads the output of `line`; nil for anything else.
    static func read(_ line: [UInt8]) -> (record: ConsumerRecord, hasOriginal: Bool)? {
        guard let root = try? JSONDocument(parsing: line).root,
            let topic = root["topic"]?.string,
            let partition = root["partition"]?.int64.flatMap({ Int32(exactly: $0) }),
            let offset = root["offset"]?.int64,
            let hasOriginal = root["original"]?.bool,
            let list = root["headers"], list.kind == .array
        else { return nil }
        var headers: [KafkaHeader] = []
        for header in list.elements {
            guard let name = header.base64("name"), let name else { return nil }
            guard let value = header.base64("value") else { return nil }
            headers.append(KafkaHeader(nameBytes: name, value: value))
        }
        var key: [UInt8]?
        var value: [UInt8]?
        if hasOriginal {
            guard let foundKey = root.base64("key"), let foundValue = root.base64("value") else {
                return nil
            }
            (key, value) = (foundKey, foundValue)
        }
        let record = ConsumerRecord(
            topicPartition: TopicPartition(topic: topic, partition: partition),
            offset: offset,
            timestampMilliseconds: root["timestamp"]?.int64,
            key: key,
            value: value,
            headers: headers
        )
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
        if let bytes {
            string(Data(bytes).base64EncodedString())
        } else {
            null()
        }
    }
}

extension JSONValue {
    /// The bytes of a member, or its null; nil if it is missing or not base64.
    fileprivate func base64(_ name: String) -> [UInt8]?? {
        guard let member = self[name] else { return nil }
        if member.isNull { return .some(nil) }
        guard let text = member.string, let data = Data(base64Encoded: text) else { return nil }
        return .some(Array(data))
    }
}
