import AppStore
import DeadLetters
import Kafka
import OpenSSL
import Operations
import Records
import TestSupport

/// A record that has to be refused, and the parts that its dead letter has to keep.
struct RefusedRecord: Hashable, Sendable {
    /// The value, by its SHA-256 if there is one.
    private enum Value: Hashable {
        case null
        case kept(String)
        /// The digest of a value too large for the dead letter, which names its position and
        /// digest.
        case omitted(String)
    }

    let reason: String
    private let key: [UInt8]?
    private let value: Value
    private let headers: [[[UInt8]?]]

    /// - Parameter valueBytesMax: a larger value does not fit in a dead letter.
    init(_ record: ProducerRecord, _ reason: RefusalReason, valueBytesMax: Int) {
        self.reason = reason.rawValue
        key = record.key
        headers = record.headers.map { [$0.nameBytes, $0.value] }
        if let bytes = record.value {
            let digest = SHA256.digest(bytes).hex
            value = bytes.count > valueBytesMax ? .omitted(digest) : .kept(digest)
        } else {
            value = .null
        }
    }

    init(_ letter: DeadLetter, _ original: DeadLetterOriginal) {
        reason = letter.reason
        key = original.key
        headers = original.headers.map { [$0.nameBytes, $0.value] }
        switch letter.value {
        case .omitted, .redacted: value = .omitted(letter.sourceSHA256)
        case .original: value = original.value.map { .kept(SHA256.digest($0).hex) } ?? .null
        }
    }
}

extension RefusedRecord: CustomStringConvertible {
    /// The record without its content.
    var description: String { "\(reason), key of \(key?.count ?? -1) bytes, value \(value), \(headers.count) headers" }
}

/// Refused records, each as often as it occurs.
typealias RefusedRecords = [RefusedRecord: Int]

extension RefusedRecords {
    /// The differences from the expected records.
    func differences(from expected: RefusedRecords) -> [String] {
        Set(keys).union(expected.keys).filter { self[$0] != expected[$0] }.map { record in
            "\(record): \(self[record] ?? 0) found, \(expected[record] ?? 0) expected"
        }.sorted()
    }
}

extension RunningPipeline {
    /// The letters of the dead-letter topic, the latest of each letter's repetitions.
    func deadLetters() async throws -> (letters: [DeadLetter], refused: RefusedRecords) {
        var newest: [String: (letter: DeadLetter, record: RefusedRecord)] = [:]
        let topic = DeadLetterTopic(name: layout.prefix + Topic.deadLetter, configuration: cluster.client)
        let summary = try await topic.read { letter, record in
            if let former = newest[letter.id], former.letter.failedAt > letter.failedAt { return }
            newest[letter.id] = (letter, RefusedRecord(letter, DeadLetterOriginal(record)))
        }
        guard summary.foreign == 0 else {
            throw PipelineFailure("\(summary.foreign) records on the topic are no dead letters")
        }
        let refused = newest.values.reduce(into: RefusedRecords()) { $0[$1.record, default: 0] += 1 }
        return (newest.values.map(\.letter), refused)
    }

    /// The expected results of all bodies published so far.
    func reference() throws -> Reference {
        try Reference(published, traffic, rules: setup.rules, valueBytesMax: setup.deadLetterValueBytesMax)
    }
}
