import AppStore
import OpenSSL
import Simulation

extension HostileFixture {
    /// Forged and broken JWS of a record's size.
    static func tokens(_ authority: CertificateAuthority) throws -> [HostileBody] {
        let payload = BenchTransaction.payload(0)
        let foreign = try CertificateAuthority(name: "Forger's").sign(payload)
        let broken: [(Forgery, RefusalReason)] = [
            (.algorithmNone, .algorithmNotAllowed), (.algorithmHS256, .algorithmNotAllowed),
            (.withoutCertificates, .x5cMissing), (.criticalMember, .jwsMalformed),
            (.unencodedPayload, .jwsMalformed), (.truncated, .jwsMalformed),
            (.fourSegments, .jwsMalformed), (.paddedSegment, .jwsMalformed),
            (.shortSignature, .jwsMalformed), (.flippedSignature, .signatureInvalid),
            (.flippedPayload, .signatureInvalid), (.foreignKey, .signatureInvalid),
            (.zeroR, .signatureInvalid),
        ]
        return try broken.map { forgery, reason in
            HostileBody("\(forgery)", try authority.forge(payload, forgery), reason)
        } + [
            HostileBody(
                "no JSON under a good signature",
                try authority.sign([1]),
                .payloadMalformed
            ),
            HostileBody(
                "genuine, of another app",
                try authority.sign(other),
                .bundleMismatch
            ),
            HostileBody("a forged chain", foreign, .rootUntrusted, bound: 3),
            HostileBody(
                "certificates of no form",
                try authority.sign(payload, headerSegment: header([[1], [2], [3]])),
                .certificateMalformed
            ),
            HostileBody(
                "four certificates",
                try authority.sign(
                    payload,
                    headerSegment: header([
                        authority.leaf, authority.leaf, authority.intermediate, authority.root,
                    ])
                ),
                .x5cLength
            ),
        ]
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
    static func responses(
        _ items: [[UInt8]],
        _ authority: CertificateAuthority,
        _ count: Int
    ) throws -> [HostileBody] {
        let forged = try authority.forge(BenchTransaction.payload(0), .flippedSignature)
        let limit = VerifierLimits.standard.itemsMax
        let tiny = [UInt8](repeating: UInt8(ascii: "a"), count: 3)
        return [
            HostileBody(
                "the last item forged",
                Body.history(items.dropLast() + [forged]),
                .signatureInvalid,
                by: .response
            ),
            HostileBody(
                "too many items",
                Body.history([[UInt8]](repeating: tiny, count: limit + 1)),
                .payloadTooLarge,
                by: .response
            ),
            HostileBody(
                "an item in an item's place",
                Body.history(items.dropLast() + [try authority.sign(RenewalFields().json)]),
                .payloadMalformed,
                by: .response
            ),
        ]
    }

    /// Notifications and app transactions of which a part is bad.
    static func wholes(_ authority: CertificateAuthority) throws -> [HostileBody] {
        let payload = BenchTransaction.payload(0)
        let foreign = try CertificateAuthority(name: "Forger's").sign(payload)
        var app = AppTransactionFields()
        app.appAppleID = 1
        return [
            HostileBody(
                "a notification of a forged transaction",
                try notification(authority, authority.forge(payload, .flippedSignature)),
                .signatureInvalid,
                by: .notification
            ),
            HostileBody(
                "a notification of a foreign transaction",
                try notification(authority, foreign),
                .rootUntrusted,
                by: .notification
            ),
            HostileBody(
                "an app transaction of another number",
                try authority.sign(app.json),
                .appMismatch
            ),
            HostileBody(
                "a forged app transaction",
                try authority.forge(AppTransactionFields().json, .flippedSignature),
                .signatureInvalid
            ),
        ]
    }

    /// A notification with a transaction and its renewal info inside.
    static func notification(
        _ authority: CertificateAuthority,
        _ transaction: [UInt8]
    ) throws -> [UInt8] {
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
