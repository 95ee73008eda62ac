import AppStore
import AppStoreServer
import DeadLetters
import Foundation
import JSON
import Kafka
import OpenSSL
import Records
import RecoveryStage
import Simulation

/// The verifier of one fuzzing process, and the authorities that it trusts.
final class FuzzRig {
    let target: FuzzTarget
    private let authority: CertificateAuthority
    private let receipts: CertificateAuthority
    private let warm: Verifier
    private let cold: Verifier
    private let signatures: SignatureComparison?
    private let letters = DeadLetterWriter(
        DeadLetterContext(
            cluster: "fuzz", topic: "fuzz", stage: "verify", readsObservations: false, worker: "fuzz",
            verifierVersion: "1", configuration: SHA256.digest([])))

    /// Number of signatures verified both by OpenSSL and by a table.
    var comparisonsCount: Int { signatures?.comparisonsCount ?? 0 }

    init(_ target: FuzzTarget) throws {
        self.target = target
        signatures = target == .signature ? SignatureComparison() : nil
        authority = try CertificateAuthority(name: "Fuzz")
        receipts = try CertificateAuthority(AuthorityBlueprint.receipts(name: "Fuzz"))
        let roots = try [authority.root, receipts.root].map { try Certificate(der: $0) }
        let apps = [("Production", true), ("Sandbox", false)].map { environment, isProduction in
            ConfiguredApp(
                bundleID: "com.example.pro", environment: Environment(rawValue: environment), appAppleID: 1_234_567_890,
                roots: roots, hasTestRootInProduction: isProduction)
        }
        warm = Verifier(configuration: VerifierConfiguration(apps: apps))
        var limits = VerifierLimits.standard
        limits.chainsCachedMax = 0
        limits.intermediatesKnownMax = 0
        cold = Verifier(configuration: VerifierConfiguration(apps: apps, limits: limits))
    }

    /// Runs one input through the target; any input is either accepted or refused.
    func run(_ input: [UInt8]) {
        switch target {
        case .body: verify(input, warm)
        case .jws: verify(input, cold)
        case .payload:
            guard let body = try? authority.sign(input) else { return }
            verify(body, warm)
        case .certificate: runCertificate(input)
        case .signature: signatures?.run(input)
        case .rendering: render(input)
        case .page: readPage(input)
        case .receipt:
            verify(Base64Text.standard(input), warm)
            guard let body = try? receipts.receiptContentText(input) else { return }
            verify(body, warm)
        }
    }

    /// The longest text of a dead letter.
    private static let shownBytesMax = 2 << 20

    /// Shows a dead letter of the body, as the tool does: text of a bounded size, or JSON.
    private func render(_ body: [UInt8]) {
        let written = letters.letter(
            for: ConsumerRecord(
                topicPartition: TopicPartition(topic: "fuzz", partition: 0), offset: 0, key: body, value: body,
                headers: [KafkaHeader(nameBytes: body, value: body)]), Refusal(reason: .bodyUnrecognized, detail: ""),
            value: .original, after: nil
        ).record
        let record = ConsumerRecord(
            topicPartition: TopicPartition(topic: "fuzz", partition: 0), offset: 0, value: written.value,
            headers: written.headers)
        guard let letter = try? DeadLetter(decoding: record) else {
            preconditionFailure("a dead letter is written that nobody reads")
        }
        let dossier = LetterDossier((letter, record))
        for isRevealing in [false, true] {
            let text = dossier.text(isRevealing: isRevealing)
            precondition(text.utf8.count < Self.shownBytesMax, "a letter's text is not bounded")
            let json = dossier.json(isRevealing: isRevealing).bytes
            precondition((try? JSONDocument(parsing: json, policy: .grammar)) != nil, "a letter's JSON does not parse")
        }
    }

    /// Checks that the parts of an answer are bodies with its items in their order.
    private func readPage(_ body: [UInt8]) {
        guard let root = try? JSONDocument(parsing: body).root, root.kind == .object,
            let parts = try? RecoveredBody.parts(of: body)
        else { return }
        _ = try? NotificationPage(root)
        guard (try? TransactionPage(root)) != nil else { return }
        func items(_ body: [UInt8]) -> [[UInt8]] {
            let root = try? JSONDocument(parsing: body).root
            return root?["signedTransactions"]?.elements.map { Array($0.rawBytes) } ?? []
        }
        precondition(parts.flatMap(items) == items(body), "an answer's parts differ from it")
        precondition(parts.allSatisfy { items($0).count <= RecoveredBody.itemsMax }, "a part has too many items")
    }

    private func runCertificate(_ der: [UInt8]) {
        if let certificate = try? Certificate(der: der, acceptsOldVersions: true) {
            _ = certificate.keyKind
            _ = certificate.p256Key
            _ = certificate.unknownCriticalExtensions
            _ = certificate.ocspResponders
            _ = certificate.isSigned(by: certificate)
            _ = certificate.issuance(by: certificate)
        }
        let chain = authority.chain
        for index in chain.indices {
            var other = chain
            other[index] = der
            let header = CertificateAuthority.headerSegment(certificates: other)
            if let body = try? authority.sign(Array("{}".utf8), headerSegment: header) { verify(body, cold) }
        }
    }

    /// Checks that the next stage can read the observation of an accepted body.
    private func verify(_ body: [UInt8], _ verifier: Verifier) {
        guard case .success(.items(let items)) = verifier.verify(body) else { return }
        for (index, item) in items.enumerated() {
            let source = ObservationSource(
                RecordPosition(topic: "fuzz", partition: 0, offset: 0), index: index, count: items.count)
            guard let sent = try? Observation(item, source: source).record(for: "verified"),
                let read = try? Observation(value: sent.value), let parsed = try? Observation(parsing: sent.value ?? [])
            else { preconditionFailure("an accepted body makes an observation that nobody reads") }
            precondition(read.record(for: "verified") == sent, "an observation changes when read")
            precondition(
                parsed.facts == read.facts && parsed.record(for: "verified") == sent,
                "an observation is another when its head is read as a document")
        }
    }
}

extension FuzzRig {
    /// Good inputs of the target, to be mutated.
    var seeds: [[UInt8]] {
        get throws {
            let transaction = try authority.sign(TransactionFields().json)
            let renewal = try authority.sign(RenewalFields().json)
            let payloads = [
                TransactionFields().json, RenewalFields().json, AppTransactionFields().json,
                try notification(transaction, renewal),
            ]
            let jws = try payloads.map { try authority.sign($0) }
            switch target {
            case .body, .rendering:
                return jws + [
                    Body.notification(jws[3]), Body.transaction(jws[0]), Body.history(jws),
                    Body.receipt(try receipts.receiptText(receiptFields)), try receipts.receiptText(receiptFields),
                ]
            case .jws: return try jws + Forgery.allCases.map { try authority.forge(TransactionFields().json, $0) }
            case .payload: return payloads
            case .signature: return try SignatureComparison.seeds
            case .page:
                let many = Array(repeating: Array("e.y.J".utf8), count: 105)
                let list = Body.history(jws + many, members: ["hasMore": "false"])
                return [list]
                    + ["notificationHistory", "data"].map { name in
                        var writer = JSONWriter()
                        writer.object { writer in
                            writer.key(name)
                            writer.array { writer in
                                writer.object { writer in
                                    writer.key("signedPayload")
                                    writer.string(utf8: jws[3])
                                    writer.key("lastTransactions")
                                    writer.array { $0.raw(list) }
                                }
                            }
                            writer.key("hasMore")
                            writer.bool(false)
                        }
                        return writer.bytes
                    }
            case .certificate: return [authority, receipts].flatMap { $0.chain }
            case .receipt:
                var pieces = ReceiptForm()
                pieces.pieceBytes = 64
                return try [
                    receiptFields.content, receipts.signReceipt(receiptFields.content),
                    receipts.signReceipt(receiptFields.content, pieces),
                ]
            }
        }
    }

    private func notification(_ transaction: [UInt8], _ renewal: [UInt8]) throws -> [UInt8] {
        var data = NotificationDataFields()
        data.signedTransactionInfo = String(decoding: transaction, as: UTF8.self)
        data.signedRenewalInfo = String(decoding: renewal, as: UTF8.self)
        var fields = NotificationFields()
        fields.notificationType = "SUBSCRIBED"
        fields.data = data.json
        return fields.json
    }

    private var receiptFields: ReceiptFields {
        var fields = ReceiptFields()
        fields.records = [ReceiptRecordFields(), ReceiptRecordFields()]
        fields.records[1].transactionID = "2000000000000002"
        return fields
    }
}

extension CertificateAuthority {
    /// A receipt of content that is perhaps none, as an app posts it.
    fileprivate func receiptContentText(_ content: [UInt8]) throws -> [UInt8] {
        Base64Text.standard(try signReceipt(content))
    }
}
