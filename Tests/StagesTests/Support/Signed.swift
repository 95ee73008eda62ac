import AppStore
import Entitlements
import JSON
import OpenSSL
import Records

/// Observations of small things, for tests that look at one property each; dates are milliseconds.
enum Signed {
    static let bundleID = "com.example.app"

    static func key(_ original: String) -> PurchaseKey {
        PurchaseKey(
            environment: .production,
            bundleID: bundleID,
            originalTransactionID: original
        )
    }

    static func json(_ text: String) throws -> JSONValue {
        try JSONDocument(parsing: Array(text.utf8)).root
    }

    static func transaction(
        _ id: String,
        signed: Int64,
        original: String? = nil,
        product: String = "pro",
        type: ProductType = .autoRenewable,
        purchased: Int64 = 10,
        expires: Int64 = 1000,
        revoked: Int64? = nil
    ) throws -> Observation {
        let revocation = revoked.map { #","revocationDate":\#($0)"# } ?? ""
        var observation = observation(signed: signed)
        observation.bundleID = bundleID
        observation.transaction = try json(
            """
            {"transactionId":"\(id)","originalTransactionId":"\(original ?? id)",
            "bundleId":"\(bundleID)","productId":"\(product)","type":"\(type.rawValue)",
            "purchaseDate":\(purchased),"expiresDate":\(expires),"environment":"Production",
            "quantity":1,"signedDate":\(signed)\(revocation)}
            """
        )
        return observation
    }

    static func renewal(
        _ original: String,
        signed: Int64,
        graceExpires: Int64?,
        renewed: Int64? = nil
    ) throws -> Observation {
        var grace = graceExpires.map { #","gracePeriodExpiresDate":\#($0)"# } ?? ""
        grace += renewed.map { #","renewalDate":\#($0)"# } ?? ""
        var observation = observation(signed: signed)
        observation.renewalInfo = try json(
            """
            {"originalTransactionId":"\(original)","autoRenewStatus":1,
            "environment":"Production","signedDate":\(signed)\(grace)}
            """
        )
        return observation
    }

    static func notification(_ type: String, signed: Int64) throws -> Observation {
        var observation = observation(signed: signed)
        observation.bundleID = bundleID
        observation.notification = ObservedNotification(
            type: type,
            subtype: nil,
            uuid: "00000000-0000-4000-8000-000000000001",
            signedDate: Timestamp(milliseconds: signed)
        )
        return observation
    }

    private static func observation(signed: Int64) -> Observation {
        let digest = SHA256.digest([UInt8]())
        return Observation(
            source: ObservationSource(
                topic: "storekit.raw",
                partition: 0,
                offset: 0,
                timestamp: nil,
                index: 0,
                count: 1
            ),
            environment: .production,
            bundleID: nil,
            verification: VerificationFacts(
                signedDate: Timestamp(milliseconds: signed),
                leaf: digest,
                root: digest,
                trust: .apple,
                method: .jws,
                verifier: "test"
            )
        )
    }
}

extension Observation {
    /// The same as one of several of its body.
    func observation(_ index: Int, of count: Int) -> Observation {
        var observation = self
        observation.source?.index = index
        observation.source?.count = count
        return observation
    }
}
