import AppStore
import DeadLetters
import JSON
import Kafka
import OpenSSL
import Records
import TestSupport
import Testing

@Suite struct DeadLetterWriterTests {
    private func letter(
        _ original: ConsumerRecord = Sample.original(), _ refusal: Refusal = Sample.refusal, stage: String = "verify",
        value: DeadLetterValue = .original
    ) -> ProducerRecord { DeadLetterWriter(Sample.context(stage: stage)).letter(for: original, refusal, value: value) }

    private static let keysAndValues: [([UInt8]?, [UInt8]?)] = [
        (nil, nil), ([], []), ([0, 255], Array("{\"é\":1}".utf8)), (nil, []), ([], nil),
    ]

    @Test(arguments: keysAndValues) func `key and value stay as they came, null and empty distinguished`(
        key: [UInt8]?, value: [UInt8]?
    ) {
        let letter = letter(Sample.original(key: key, value: value))
        #expect(letter.key == key)
        #expect(letter.value == value)
        #expect(letter.text("dlq.value") == "original")
        #expect(letter.text("dlq.source.sha256") == SHA256.digest(value ?? []).hex)
    }

    @Test func `headers stay as they came, former dead-letter headers moved aside`() {
        let headers = [
            KafkaHeader(name: "correlation-id", text: "c-1"), KafkaHeader(name: "correlation-id", value: nil),
            KafkaHeader(name: "empty", value: []), KafkaHeader(nameBytes: [0xFF, 0xFE], value: [0, 1]),
            KafkaHeader(name: "dlq.reason", text: "forged by a producer"),
            KafkaHeader(name: "dlq.original.reason", text: "twice"),
            KafkaHeader(name: "DLQ.reason", text: "another name"),
        ]
        let letter = letter(Sample.original(headers: headers))
        var expected = headers
        expected[4] = KafkaHeader(name: "dlq.original.reason", text: "forged by a producer")
        expected[5] = KafkaHeader(name: "dlq.original.original.reason", text: "twice")
        #expect(Array(letter.headers.prefix(headers.count)) == expected)
        #expect(letter.headers.filter { $0.name == "dlq.reason" }.count == 1)
        #expect(letter.text("dlq.reason") == "signature_invalid")
    }

    @Test func `a refused body's letter has every header`() throws {
        let letter = letter()
        let expected = [
            "dlq.reason": "signature_invalid", "dlq.class": "forged", "dlq.stage": "verify",
            "dlq.detail": "the ES256 signature does not match header and payload", "dlq.source.topic": "storekit.raw",
            "dlq.source.partition": "3", "dlq.source.offset": "1042", "dlq.source.timestamp": "1767225600123",
            "dlq.verifier.version": "1.0.0", "dlq.attempt": "1", "dlq.worker": "verify-7d9f",
            "dlq.config.sha256": SHA256.digest(Array("settings".utf8)).hex,
        ]
        for (name, text) in expected { #expect(letter.text(name) == text, "\(name)") }
        let chain = try #require(letter.text("dlq.chain"))
        let root = try JSONDocument(parsing: Array(chain.utf8)).root
        #expect(root["leaf"]?["sha256"]?.string == SHA256.digest([1]).hex)
        #expect(root["leaf"]?["not_before"]?.string == "2020-09-13T12:26:40Z")
        #expect(root["intermediate"]?["not_after"]?.string == "2027-01-15T08:00:00Z")
        #expect(root["root"] == nil)
    }

    @Test func `the ID depends only on the source and its position`() {
        let id = letter().text("dlq.id")
        let other = Refusal(reason: .bundleMismatch, detail: "other")
        #expect(id?.count == 32)
        #expect(letter(Sample.original(), other, stage: "dedupe").text("dlq.id") == id)
        #expect(letter(Sample.original(), value: .omitted).text("dlq.id") == id)
        #expect(letter(Sample.original(offset: 1043)).text("dlq.id") != id)
        let source = RecordPosition(topic: "storekit.raw", partition: 3, offset: 1042)
        for (cluster, isSame) in [("cluster-1", true), ("cluster-2", false)] {
            let made = DeadLetterID.make(
                cluster: cluster, source: source, timestamp: Sample.original().timestampMilliseconds,
                sha256: SHA256.digest(Sample.original().value ?? []))
            #expect((made == id) == isSame)
        }
    }

    @Test func `letters of a topic and of its successor of the same name have different IDs`() {
        let id = letter().text("dlq.id")
        #expect(letter(Sample.original(timestamp: 1_767_225_700_000)).text("dlq.id") != id)
        #expect(letter(Sample.original(timestamp: nil)).text("dlq.id") != id)
        #expect(letter(Sample.original(value: Array("other".utf8))).text("dlq.id") != id)
        // After a crash the same record is refused again.
        #expect(letter(Sample.original()).text("dlq.id") == id)
    }

    @Test func `a later stage names the body and the observation's subject`() throws {
        let conflict = Refusal(reason: .transactionConflict, detail: "product differs")
        let letter = letter(Sample.original(try Sample.observation()), conflict, stage: "dedupe")
        let expected = [
            "dlq.class": "conflict", "dlq.raw.topic": "storekit.raw", "dlq.raw.partition": "6", "dlq.raw.offset": "99",
            "dlq.unverified.transaction-id": "7", "dlq.unverified.original-transaction-id": "5",
            "dlq.unverified.bundle-id": "com.example", "dlq.unverified.environment": "Sandbox",
            "dlq.unverified.product-id": "gold", "dlq.unverified.signed-date": "1767225600000",
        ]
        for (name, text) in expected { #expect(letter.text(name) == text, "\(name)") }
    }

    @Test func `a body that looks like an observation names no raw record`() throws {
        let letter = letter(Sample.original(try Sample.observation()))
        #expect(letter.text("dlq.raw.topic") == nil)
        #expect(letter.text("dlq.unverified.transaction-id") == nil)
    }

    @Test func `an omitted value differs from a null`() {
        let original = Sample.original()
        let letter = letter(original, value: .omitted)
        #expect(letter.value == nil)
        #expect(letter.key == original.key)
        #expect(letter.text("dlq.value") == "omitted")
        #expect(letter.text("dlq.omitted") == nil)
        #expect(letter.text("dlq.source.sha256") == SHA256.digest(original.value ?? []).hex)
    }

    @Test(
        arguments: [
            (10, 10, 100_000, nil, "omitted"), (10, 100_000, 10, "headers", "original"),
            (100_000, 10, 10, "key", "original"), (100_000, 100_000, 100_000, "key,headers", "omitted"),
        ] as [(Int, Int, Int, String?, String)]) func `parts too large for the topic are left out and named`(
            key: Int, header: Int, value: Int, omitted: String?, state: String
        )
    {
        let writer = DeadLetterWriter(Sample.context(recordBytesMax: 50_000))
        let original = Sample.original(
            key: Array(repeating: 1, count: key), value: Array(repeating: 2, count: value),
            headers: [KafkaHeader(name: "h", value: Array(repeating: 3, count: header))])
        let letter = writer.letter(for: original, Sample.refusal, value: .original)
        #expect(letter.text("dlq.value") == state)
        #expect(letter.text("dlq.omitted") == omitted)
        #expect(letter.key == (key > 50_000 ? nil : original.key))
        let size = (letter.key?.count ?? 0) + (letter.value?.count ?? 0)
        let inHeaders = letter.headers.reduce(0) { $0 + $1.nameBytes.count + ($1.value?.count ?? 0) }
        #expect(size + inHeaders <= 50_000)
    }

    @Test func `a body at the limit and its headers fit`() {
        let body = [UInt8](repeating: 0x61, count: 1 << 20)
        #expect(letter(Sample.original(value: body)).value == body)
    }

    @Test func `a long detail is cut at a character`() {
        let refusal = Refusal(reason: .payloadMalformed, detail: String(repeating: "ü", count: 5000))
        let detail = letter(Sample.original(), refusal).text("dlq.detail") ?? ""
        #expect(detail.utf8.count <= 512)
        #expect(detail.hasSuffix("üü…"))
    }

    @Test(
        arguments: [(nil, "1"), ("1", "2"), ("41", "42"), ("-5", "1"), ("many", "1"), ("9999999999", "1000000")]
            as [(String?, String)]) func `a replayed record counts its attempts`(former: String?, attempt: String)
    {
        let headers = former.map { [KafkaHeader(name: "dlq.attempt", text: $0)] } ?? []
        #expect(letter(Sample.original(headers: headers)).text("dlq.attempt") == attempt)
    }

    @Test func `every reason makes headers that the schema accepts`() async throws {
        var documents: [[UInt8]] = []
        for reason in RefusalReason.allCases {
            for stage in ["verify", "entitle"] {
                let refusal = Refusal(reason: reason, detail: "why", chain: Sample.refusal.chain)
                let original = Sample.original(try Sample.observation())
                let letter = letter(original, refusal, stage: stage)
                documents.append(Self.json(letter.headers))
            }
        }
        let verdict = try PublishedSchema.topics.validate(documents, against: "dead-letter")
        #expect(verdict.isValid, "\(verdict.report)")
    }

    private static func json(_ headers: [KafkaHeader]) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            for header in headers {
                writer.key(header.name)
                writer.string(utf8: header.value ?? [])
            }
        }
        return writer.bytes
    }
}
