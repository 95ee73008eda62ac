import AppStore
import DeadLetters
import Foundation
import JSON
import Kafka
import Records
import Store
import Testing
import TestSupport

/// Letters whose times, offsets and counts are at the ends of their type.
@Suite struct HostileTimeTests {
    /// A letter of a record, with the number in each numeric header.
    private static func letter(_ number: Int64) -> ConsumerRecord {
        let original = Sample.original(offset: number, timestamp: number)
        var record = DeadLetterWriter(Sample.context()).letter(for: original, Sample.refusal, value: .original)
        let numbered = [DeadLetterHeader.sourceTimestamp, DeadLetterHeader.attempt, DeadLetterHeader.signedDate]
        record.headers.removeAll { numbered.contains($0.name) }
        record.headers += numbered.map { KafkaHeader(name: $0, text: String(number)) }
        return Sample.consumed(record, offset: number, failedAt: number)
    }

    @Test(arguments: HostileNumber.all) func `a letter of any time is read, listed and shown`(number: Int64) throws {
        let record = Self.letter(number)
        let letter = try DeadLetter(decoding: record)
        #expect(LetterDossier((letter, record)).text(isRevealing: false).contains("id: \(letter.id)\n"))
        let row = DeadLetterRow(letter, record)
        let json = row.json(topic: "storekit.dead-letter").bytes
        #expect(try JSONSerialization.jsonObject(with: Data(json)) is [String: Any])
    }

    @Test func `letters of any time are indexed and found`() async throws {
        let rig = try await IndexRig()
        let rows = try HostileNumber.all.map { number in
            let record = Self.letter(number)
            return DeadLetterRow(try DeadLetter(decoding: record), record)
        }
        for row in rows {
            _ = try await DeadLetterIndexTable.add(
                [(partition: 0, offset: row.letterOffset, row: row)], of: rig.topic.name,
                nextOffsets: [0: row.letterOffset + 1], on: rig.client)
        }
        let read = try await DeadLetterTable.page(DeadLetterQuery(), limit: 100, on: rig.client)
        #expect(Set(read.map(\.failedAt)) == Set(rows.map(\.failedAt)))
        for row in read {
            let answer = try #require(try await DeadLetterTable.answer(about: row.id, on: rig.client))
            for (name, value) in row.json(topic: rig.topic.name).members {
                #expect(Self.object(answer[name]) == Self.object(value), "\(name)")
            }
        }
    }

    private static func object(_ json: JSONContent) -> NSObject? {
        try? JSONSerialization.jsonObject(with: Data(json.bytes), options: .fragmentsAllowed) as? NSObject
    }

    @Test(arguments: HostileNumber.all) func `a letter whose header names no offset is no dead letter`(number: Int64)
        throws
    {
        for name in [DeadLetterHeader.sourceOffset, DeadLetterHeader.sourcePartition] {
            var record = DeadLetterWriter(Sample.context()).letter(
                for: Sample.original(), Sample.refusal, value: .original)
            record.headers.removeAll { $0.name == name }
            record.headers.append(KafkaHeader(name: name, text: String(number)))
            let letter = try? DeadLetter(decoding: Sample.consumed(record))
            #expect((letter != nil) == (number == 0), "\(name)")
        }
    }
}
