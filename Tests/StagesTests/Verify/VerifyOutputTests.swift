import AppStore
import Entitlements
import Kafka
import OpenSSL
import Records
import Simulation
import Telemetry
import TestSupport
import Testing
import VerifyStage
import Topology
import Worker

/// The outputs of a body, compared with its size.
@Suite struct VerifyOutputTests {
    private static let authority = Result { try CertificateAuthority(.receipts(name: "Receipts")) }

    private static func stage(
        bodyOutputBytesMax: Int = 4 << 20, threadsMax: Int = 2, _ registry: MetricsRegistry = MetricsRegistry()
    ) throws -> VerifyStage {
        let app = ConfiguredApp.pro(trusting: [try Certificate(der: try authority.get().root)])
        return VerifyStage(
            configuration: VerifierConfiguration(apps: [app]), topic: "storekit.verified", threadsMax: threadsMax,
            bodyOutputBytesMax: bodyOutputBytesMax, metrics: VerifyMetrics(registry) { Timestamp(milliseconds: .max) },
            leaves: LeafWatch(MetricsRegistry(), log: Log(RecordingLogHandler())) { Timestamp(milliseconds: .max) })
    }

    /// A receipt of a number of purchases, and of bytes about the app.
    private static func receipt(_ purchases: Int, further: Int = 0) throws -> [UInt8] {
        var fields = ReceiptFields()
        for id in 1...purchases {
            var record = ReceiptRecordFields()
            record.transactionID = String(id)
            record.originalTransactionID = String(id)
            fields.records.append(record)
        }
        if further > 0 {
            let value = [UInt8](repeating: 7, count: further)
            fields.further = [ReceiptFields.attribute(9_999, value)]
        }
        return Body.receipt(try authority.get().receiptText(fields))
    }

    private static func records(_ bodies: [[UInt8]], headers: [KafkaHeader] = []) -> [ConsumerRecord] {
        bodies.enumerated().map { offset, body in
            ConsumerRecord("storekit.raw", at: Int64(offset), value: body, headers: headers)
        }
    }

    private static func read(_ output: ProducerRecord) throws -> Observation { try Observation(value: output.value) }

    private static func bytes(_ verdicts: [Verdict]) -> Int {
        verdicts.flatMap(\.outputs).reduce(0) { $0 + $1.batchBytesMax }
    }

    @Test func `a receipt's long statements about the app are in one observation`() async throws {
        let body = try Self.receipt(187, further: 40_000)
        let verdicts = try await Self.stage().process(Self.records([body]))
        #expect(verdicts.map(\.disposition) == [.forwarded])
        #expect(verdicts[0].outputs.count == 187)
        let observations = try verdicts[0].outputs.map { try Self.read($0) }
        let naming = observations.indices.filter { observations[$0].payloads[.receipt] != nil }
        #expect(naming == [0])
        #expect(Self.bytes(verdicts) < 4 * body.count)
        // Short ones, such as Apple's, are in all.
        let short = try await Self.stage().process(Self.records([try Self.receipt(3)]))
        for output in short[0].outputs { #expect(try Self.read(output).payloads[.receipt] != nil) }
    }

    @Test func `a body with more output than its limit is refused whole`() async throws {
        let body = try Self.receipt(187)
        let size = Self.bytes(try await Self.stage().process(Self.records([body])))
        let small = try Self.stage(bodyOutputBytesMax: size / 2)
        let verdicts = try await small.process(Self.records([body, try Self.receipt(3)]))
        #expect(verdicts.map(\.disposition) == [.deadLettered, .forwarded])
        #expect(verdicts[0].refusal?.reason == .payloadTooLarge)
    }

    @Test func `the estimate of an observation is never less than its size`() async throws {
        let bodies = [try Self.receipt(20), try Self.receipt(2, further: 9_000)]
        for output in try await Self.stage().process(Self.records(bodies)).flatMap(\.outputs) {
            let bytes = output.value?.count ?? 0
            let bytesMax = try Self.read(output).encoded().valueBytes
            #expect(bytes <= bytesMax)
            #expect(bytesMax < bytes + 2)
        }
    }

    @Test func `forwarded headers are short, and one of each name`() async throws {
        let registry = MetricsRegistry()
        let stage = try Self.stage(registry)
        let body = try Self.receipt(2)
        let long = KafkaHeader(name: "correlation-id", value: Array(repeating: 0x61, count: 256))
        let escape = KafkaHeader(name: "traceparent", text: "00-\u{1B}[2J")
        let good = KafkaHeader(name: "correlation-id", value: Array(repeating: 0x61, count: 255))
        let trace = KafkaHeader(name: "traceparent", text: "00-1-2-01")
        let other = KafkaHeader(name: "x", text: "y")
        for (headers, kept) in [
            ([long, trace, other], [trace]), ([good, escape], [good]), ([trace, good, good, trace], [good, trace]),
            ([other], []),
        ] as [([KafkaHeader], [KafkaHeader])] {
            let verdicts = try await stage.process(Self.records([body], headers: headers))
            #expect(verdicts.map(\.disposition) == [.forwarded])
            let written = verdicts[0].outputs.map(\.headers)
            #expect(written == [kept, kept])
        }
        let metrics = String(decoding: registry.exposition(), as: UTF8.self)
        #expect(metrics.contains("entitlements_verify_refused_headers_total 4"))
        #expect(Self.records([body], headers: [long])[0].correlationID == nil)
        #expect(Self.records([body], headers: [good])[0].correlationID == good.value)
    }

    @Test(arguments: [1, 4]) func `a batch with large outputs is processed in parts`(threadsMax: Int) async throws {
        let stage = try Self.stage(threadsMax: threadsMax)
        var rest = Self.records(Array(repeating: try Self.receipt(450), count: 100))
        var processed: [Verdict] = []
        while !rest.isEmpty {
            let verdicts = try await stage.process(rest)
            // Each thread may be processing one body when the limit is reached.
            #expect(Self.bytes(verdicts) <= (8 << 20) + threadsMax * (4 << 20))
            for (record, verdict) in zip(rest, verdicts) {
                let sources = try verdict.outputs.map { try Self.read($0).source }
                #expect(sources.allSatisfy { $0?.position.offset == record.offset })
            }
            rest.removeFirst(verdicts.count)
            processed += verdicts
        }
        #expect(processed.count == 100)
        #expect(Self.bytes(processed) > 24 << 20)
        #expect(processed.allSatisfy { $0.outputs.count == 450 })
    }
}
