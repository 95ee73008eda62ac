import AppStore
import Entitlements
import JSON
import OpenSSL
import Records

/// Small observations for tests of one property each; dates are milliseconds.
enum Signed {
    static let bundleID: Identifier = "com.example.app"

    static func key(_ original: String) -> PurchaseKey {
        PurchaseKey(environment: .production, bundleID: bundleID, originalTransactionID: Identifier(original))
    }

    static func json(_ text: String) throws -> JSONValue { try JSONDocument(parsing: Array(text.utf8)).root }

    static func transaction(
        _ id: String, signed: Int64, original: String? = nil, product: String = "pro",
        type: ProductType = .autoRenewable, purchased: Int64 = 10, expires: Int64 = 1000, revoked: Int64? = nil,
        token: String? = nil, quantity: Int = 1, members: String = ""
    ) throws -> Observation {
        var more = members
        more += revoked.map { #","revocationDate":\#($0)"# } ?? ""
        more += token.map { #","appAccountToken":"\#($0)""# } ?? ""
        let payload = try json(
            """
            {"transactionId":"\(id)","originalTransactionId":"\(original ?? id)",
            "bundleId":"\(bundleID)","productId":"\(product)","type":"\(type.rawValue)",
            "purchaseDate":\(purchased),"expiresDate":\(expires),"environment":"Production",
            "quantity":\(quantity),"signedDate":\(signed)\(more)}
            """)
        return try observation(SignedPayloads(transaction: payload), bundleID, signed: signed)
    }

    static func renewal(
        _ original: String, signed: Int64, graceExpires: Int64? = nil, renewed: Int64? = nil, status: Int = 1,
        members: String = ""
    ) throws -> Observation {
        var more = graceExpires.map { #","gracePeriodExpiresDate":\#($0)"# } ?? ""
        more += renewed.map { #","renewalDate":\#($0)"# } ?? ""
        more += members
        let payload = try json(
            """
            {"originalTransactionId":"\(original)","autoRenewStatus":\(status),
            "environment":"Production","signedDate":\(signed)\(more)}
            """)
        return try observation(SignedPayloads(renewalInfo: payload), nil, signed: signed)
    }

    static func notification(_ type: String, signed: Int64) throws -> Observation {
        var observation = try observation(SignedPayloads(), bundleID, signed: signed)
        observation.notification = ObservedNotification(
            type: type, subtype: nil, uuid: "00000000-0000-4000-8000-000000000001",
            signedDate: Timestamp(milliseconds: signed))
        return observation
    }

    private static func observation(_ payloads: SignedPayloads, _ bundleID: Identifier?, signed: Int64) throws
        -> Observation
    {
        let digest = SHA256.digest([UInt8]())
        return try Observation(
            payloads, source: ObservationSource(RecordPosition(topic: "storekit.raw", partition: 0, offset: 0)),
            environment: .production, bundleID: bundleID,
            verification: VerificationFacts(
                signedDate: Timestamp(milliseconds: signed), leaf: digest, root: digest, trust: .apple, method: .jws,
                verifier: "test"))
    }
}

extension Observation {
    /// The same as one of several observations of its body.
    func observation(_ index: Int, of count: Int) -> Observation {
        var observation = self
        observation.source?.index = index
        observation.source?.count = count
        return observation
    }
}
