import AppStore
import DeadLetters
import Kafka
import Records
import Store
import Testing

@Suite struct DeadLetterReadingTests {
    private func letter(
        _ original: ConsumerRecord = Sample.original(), _ refusal: Refusal = Sample.refusal, stage: String = "verify",
        failedAt: Int64 = 1_767_225_660_000
    ) throws -> DeadLetter {
        let writer = DeadLetterWriter(Sample.context(stage: stage))
        let record = writer.letter(for: original, refusal, value: .original)
        return try DeadLetter(decoding: Sample.consumed(record, offset: 17, failedAt: failedAt))
    }

    private func row(_ original: ConsumerRecord = Sample.original(), at offset: Int64 = 17) throws -> DeadLetterRow {
        let writer = DeadLetterWriter(Sample.context())
        let record = writer.letter(for: original, Sample.refusal, value: .original)
        return try #require(DeadLetterRow(Sample.consumed(record, offset: offset)))
    }

    @Test func `a written letter is read back`() throws {
        let conflict = Refusal(reason: .transactionConflict, detail: "product differs")
        let letter = try letter(Sample.original(try Sample.observation()), conflict, stage: "dedupe")
        #expect(letter.reason == "transaction_conflict")
        #expect(letter.deadLetterClass == "conflict")
        #expect(letter.detail == "product differs")
        #expect(letter.stage == "dedupe")
        #expect(letter.source.description == "storekit.raw/3/1042")
        #expect(letter.raw?.description == "storekit.raw/6/99")
        #expect(letter.sourceTimestamp == Timestamp(milliseconds: 1_767_225_600_123))
        #expect(letter.identifiers.transactionID == "7")
        #expect(letter.identifiers.bundleID == "com.example")
        #expect(letter.failedAt == Timestamp(milliseconds: 1_767_225_660_000))
        #expect(letter.position.description == "storekit.dead-letter/0/17")
        #expect(letter.worker == "dedupe-7d9f")
        #expect(letter.attempt == 1)
        #expect(letter.value == .original)
    }

    @Test func `the original comes back byte for byte`() {
        let original = Sample.original(
            key: nil, value: [],
            headers: [
                KafkaHeader(name: "dlq.reason", text: "foreign"), KafkaHeader(name: "dlq.original.x", value: nil),
                KafkaHeader(nameBytes: [0xFF], value: []), KafkaHeader(name: "traceparent", text: "00-1"),
            ])
        let writer = DeadLetterWriter(Sample.context())
        let record = writer.letter(for: original, Sample.refusal, value: .original)
        let restored = DeadLetterOriginal(Sample.consumed(record))
        #expect(restored.key == original.key)
        #expect(restored.value == original.value)
        #expect(restored.headers == original.headers)
    }

    @Test(arguments: ["dlq.id", "dlq.reason", "dlq.stage", "dlq.value", "dlq.source.offset"])
    func `a record without a required header is no dead letter`(missing: String) throws {
        let writer = DeadLetterWriter(Sample.context())
        var record = writer.letter(for: Sample.original(), Sample.refusal, value: .original)
        #expect(throws: Never.self) { try DeadLetter(decoding: Sample.consumed(record)) }
        record.headers.removeAll { $0.name == missing }
        #expect(throws: DeadLetterError.self) { try DeadLetter(decoding: Sample.consumed(record)) }
    }

    @Test func `the first unaltered copy counts, in any order`() throws {
        let early = try row(at: 17)
        let late = try row(at: 18)
        var altered = try row(at: 3)
        altered.doubt = "altered"
        var forward = DeadLetterFold<String>()
        guard case .counts(replacing: nil) = forward.add(altered, "altered"),
            case .counts(replacing: "altered") = forward.add(early, "early"), case .stale = forward.add(late, "late")
        else {
            Issue.record("the first does not count")
            return
        }
        #expect(forward.repetitions == 2)
        var backward = DeadLetterFold<String>()
        guard case .counts(replacing: nil) = backward.add(late, "late"),
            case .counts(replacing: "late") = backward.add(early, "early"),
            case .stale = backward.add(altered, "altered")
        else {
            Issue.record("an altered or later letter counts")
            return
        }
    }

    @Test func `letters of different sources are all kept`() throws {
        var fold = DeadLetterFold<Int>()
        for offset in 0..<100 {
            let row = try row(Sample.original(offset: Int64(offset)))
            guard case .counts(replacing: nil) = fold.add(row, offset) else {
                Issue.record("offset \(offset) was taken for another")
                return
            }
        }
        #expect(fold.repetitions == 0)
    }

    @Test func `a full fold says so and passes all letters`() throws {
        var fold = DeadLetterFold<Int>(idsMax: 2)
        for offset in 0..<3 { _ = fold.add(try row(Sample.original(offset: Int64(offset))), offset) }
        #expect(!fold.isComplete)
        guard case .counts(replacing: nil) = fold.add(try row(Sample.original(offset: 2)), 2) else {
            Issue.record("an ID that is not held was found")
            return
        }
    }

    @Test func `a filter passes letters that match all its parts`() throws {
        let record = DeadLetterWriter(Sample.context(stage: "link")).letter(
            for: Sample.original(try Sample.observation()), Sample.refusal, value: .original)
        let row = try #require(DeadLetterRow(Sample.consumed(record, failedAt: 5000)))
        let matching: [(inout DeadLetterQuery) -> Void] = [
            { _ in }, { $0.reasons = ["signature_invalid", "x"] }, { $0.classes = ["forged"] },
            { $0.since = Timestamp(milliseconds: 5000) }, { $0.until = Timestamp(milliseconds: 5001) },
            { $0.transactionID = "7" }, { $0.transactionID = "5" }, { $0.bundleID = "com.example" },
        ]
        let excluding: [(inout DeadLetterQuery) -> Void] = [
            { $0.reasons = ["x"] }, { $0.classes = ["stale"] }, { $0.since = Timestamp(milliseconds: 5001) },
            { $0.until = Timestamp(milliseconds: 5000) }, { $0.transactionID = "6" }, { $0.bundleID = "com" },
        ]
        for (number, change) in (matching + excluding).enumerated() {
            var filter = DeadLetterQuery()
            change(&filter)
            #expect(filter.matches(row) == (number < matching.count), "\(number)")
        }
    }
}
