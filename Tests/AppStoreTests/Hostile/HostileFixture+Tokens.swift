import AppStore
import Simulation

@testable import Benchmarks

extension HostileFixture {
    /// Forged and broken JWS of a record's size.
    static func tokens(_ authority: CertificateAuthority) throws -> [HostileCase] {
        let payload = BenchTransaction.payload(0)
        let foreign = try CertificateAuthority(name: "Forger's").sign(payload)
        let broken: [(Forgery, RefusalReason)] = [
            (.algorithmNone, .algorithmNotAllowed), (.algorithmHS256, .algorithmNotAllowed),
            (.withoutCertificates, .x5cMissing), (.criticalMember, .jwsMalformed), (.unencodedPayload, .jwsMalformed),
            (.truncated, .jwsMalformed), (.fourSegments, .jwsMalformed), (.paddedSegment, .jwsMalformed),
            (.shortSignature, .jwsMalformed), (.flippedSignature, .signatureInvalid),
            (.flippedPayload, .signatureInvalid), (.foreignKey, .signatureInvalid), (.zeroR, .signatureInvalid),
        ]
        let forgeries = try broken.map { forgery, reason in
            ("\(forgery)", try authority.forge(payload, forgery), reason)
        }
        let formless = header([[1], [2], [3]])
        let fourfold = header([authority.leaf] + authority.chain)
        return HostileCase.all(
            forgeries + [
                ("no JSON under a good signature", try authority.sign([1]), .payloadMalformed),
                ("genuine, of another app", try authority.sign(other), .bundleMismatch),
                (
                    "certificates of no form", try authority.sign(payload, headerSegment: formless),
                    .certificateMalformed
                ), ("four certificates", try authority.sign(payload, headerSegment: fourfold), .x5cLength),
            ]) + HostileCase.all([("a forged chain", foreign, .rootUntrusted)])
    }

    private static var other: [UInt8] {
        var fields = TransactionFields()
        fields.bundleID = "com.example.other"
        return fields.json
    }

    private static func header(_ certificates: [[UInt8]]) -> [UInt8] {
        CertificateAuthority.headerSegment(certificates: certificates)
    }

    /// API responses that are bad at their very end, or full of nothing.
    static func responses(_ items: [[UInt8]], _ authority: CertificateAuthority, _ count: Int) throws -> [HostileCase] {
        let forged = try authority.forge(BenchTransaction.payload(0), .flippedSignature)
        let limit = VerifierLimits.standard.itemsMax
        let tiny = [UInt8](repeating: UInt8(ascii: "a"), count: 3)
        let misplaced = try authority.sign(RenewalFields().json)
        let many = [[UInt8]](repeating: tiny, count: limit + 1)
        let others = items.dropLast()
        return HostileCase.all(
            by: .response,
            [
                ("the last item forged", Body.history(others + [forged]), .signatureInvalid),
                ("too many items", Body.history(many), .payloadTooLarge),
                ("an item in an item's place", Body.history(others + [misplaced]), .payloadMalformed),
            ])
    }

    /// Notifications and app transactions of which a part is bad.
    static func wholes(_ authority: CertificateAuthority) throws -> [HostileCase] {
        let payload = BenchTransaction.payload(0)
        let forged = try authority.forge(payload, .flippedSignature)
        let foreign = try CertificateAuthority(name: "Forger's").sign(payload)
        var app = AppTransactionFields()
        app.appAppleID = 1
        let notifications = HostileCase.all(
            by: .notification,
            [
                ("a notification of a forged transaction", try notification(authority, forged), .signatureInvalid),
                ("a notification of a foreign transaction", try notification(authority, foreign), .rootUntrusted),
            ])
        let forgedApp = try authority.forge(AppTransactionFields().json, .flippedSignature)
        return notifications
            + HostileCase.all([
                ("an app transaction of another number", try authority.sign(app.json), .appMismatch),
                ("a forged app transaction", forgedApp, .signatureInvalid),
            ])
    }

    /// A notification with a transaction and its renewal info inside.
    static func notification(_ authority: CertificateAuthority, _ transaction: [UInt8]) throws -> [UInt8] {
        var renewal = RenewalFields()
        renewal.originalTransactionID = BenchTransaction.id(0)
        var data = NotificationDataFields()
        data.signedTransactionInfo = String(decoding: transaction, as: UTF8.self)
        data.signedRenewalInfo = String(decoding: try authority.sign(renewal.json), as: UTF8.self)
        var fields = NotificationFields()
        fields.notificationType = "DID_RENEW"
        fields.data = data.json
        return Body.notification(try authority.sign(fields.json))
    }
}
