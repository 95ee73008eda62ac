import AppStore
import DedupeStage
import EntitleStage
import Entitlements
import JSON
import Kafka
import LinkStage
import OpenSSL
import Postgres
import Records
import Telemetry
import TestSupport
import Testing
import Simulation
import VerifyStage
import Topology
import Worker

/// The four stages one after the other on one database, without a broker between them.
final class ReceiptPath {
    let link: LinkWorker
    private let authority: CertificateAuthority
    private let receiptAuthority: CertificateAuthority
    private let verify: VerifyStage
    private let dedupe: DedupeStage
    private let entitle: EntitleWorker
    private var offset: Int64 = 0

    private static let authorities = Result {
        try (CertificateAuthority(), CertificateAuthority(.receipts(name: "Receipts")))
    }

    init() async throws {
        (authority, receiptAuthority) = try Self.authorities.get()
        let client = try await StageDatabase.make()
        let app = ConfiguredApp.pro(
            trusting: try [authority.root, receiptAuthority.root].map { try Certificate(der: $0) })
        verify = VerifyStage(
            configuration: VerifierConfiguration(apps: [app]), topic: "storekit.verified", threadsMax: 1,
            metrics: VerifyMetrics(MetricsRegistry()) { Timestamp(milliseconds: .max) },
            leaves: LeafWatch(MetricsRegistry(), log: Log(RecordingLogHandler())) { Timestamp(milliseconds: .max) })
        dedupe = DedupeStage(
            client: client, uniqueTopic: "storekit.unique", retention: .seconds(86_400), pruneInterval: .seconds(3_600))
        link = try await LinkWorker(on: client)
        entitle = try await EntitleWorker(on: client)
        try await link.linkTokens()
    }

    func body(_ receipt: ReceiptFields) throws -> [UInt8] { Body.receipt(try receiptAuthority.receiptText(receipt)) }

    func publish(jws transaction: TransactionFields) async throws {
        let jws = try authority.sign(transaction.json)
        let outcomes = try await process(Body.transaction(jws))
        #expect(outcomes == [.applied])
    }

    /// - Returns: the outcome of each observation that reached the last stage.
    func publish(_ receipt: ReceiptFields) async throws -> [Disposition] { try await process(body(receipt)) }

    func process(_ body: [UInt8]) async throws -> [Disposition] {
        let raw = [record(ProducerRecord(topic: "storekit.raw", value: body))]
        let verified = try await verify.process(raw)
        #expect(verified.map(\.refusal?.detail) == [nil])
        let observations = verified.flatMap(\.outputs).map(record)
        let unique = try await dedupe.process(observations)
        #expect(unique.allSatisfy { $0.refusal == nil })
        try await dedupe.acknowledged(observations, unique)
        let linking = unique.flatMap(\.outputs).map(record)
        let linked = try await link.stage.process(linking)
        #expect(linked.allSatisfy { $0.refusal == nil })
        try await link.stage.acknowledged(linking, linked)
        let outcomes = try await entitle.stage.process(linked.flatMap(\.outputs).map(record))
        #expect(outcomes.allSatisfy { $0.refusal == nil })
        return outcomes.map(\.disposition)
    }

    /// The dead letter as an earlier version of the verifier wrote it.
    func deadLetter(of body: [UInt8], reason: RefusalReason) -> ProducerRecord {
        let raw = record(ProducerRecord(topic: "storekit.raw", value: body))
        let writer = DeadLetterWriter(
            DeadLetterContext(
                cluster: "cluster-1", topic: "storekit.dead-letter", stage: "verify", readsObservations: false,
                worker: "verify-1", verifierVersion: "0.9.0", configuration: SHA256.digest([UInt8]())))
        let facts = Refusal(reason: reason, detail: "not verified by this version")
        return writer.letter(for: raw, facts, value: .original, after: nil).record
    }

    /// The spans of all entitlements.
    func periods() async throws -> [Period] { try await rows().values.flatMap { $0 }.flatMap(\.periods.periods) }

    func rows() async throws -> [PurchaseKey: Set<EntitlementRow>] { try await entitle.rows() }

    /// The table `transactions`: track, ID, purchase date, token and type.
    func facts() async throws -> [String] {
        try await entitle.client.query(
            """
            SELECT concat_ws(' ', track, transaction_id, purchase_date_ms,
                coalesce(account_token, 'none'), product_type)
            FROM transactions ORDER BY track, transaction_id
            """
        ).map { $0.text(0) }
    }

    private func record(_ output: ProducerRecord) -> ConsumerRecord {
        defer { offset += 1 }
        return ConsumerRecord(output, at: offset)
    }
}
