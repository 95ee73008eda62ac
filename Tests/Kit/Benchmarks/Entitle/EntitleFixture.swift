import AppStore
import Entitlements
import JSON
import Kafka
import OpenSSL
import Records
import Simulation

/// Linked observations of each kind, as `link-worker` would hand them on.
struct EntitleFixture {
    static let catalog = Array(
        """
        {"products":{
          "monthly":{"type":"auto-renewable","entitlements":["pro"],"group":"g","level":1},
          "lifetime":{"type":"non-consumable"},
          "season":{"type":"non-renewing","duration":"P3M"},
          "coins":{"type":"consumable","credits":{"coins":100}}}}
        """.utf8
    )

    static let longRenewals = 300

    private static let start: Int64 = 1_600_000_000_000
    private static let month: Int64 = 2_592_000_000

    /// The records that must be known before records of this kind arrive.
    static func history(of kind: EntitleKind, purchase: Int) throws -> [ProducerRecord] {
        switch kind {
        case .renewal, .notification: try (0..<2).map { try period(purchase, $0) }
        case .longRenewal: try (0..<(longRenewals - 1)).map { try period(purchase, $0) }
        case .refund, .known: [try period(purchase, 0)]
        case .mixed: try history(of: mixed(purchase), purchase: purchase)
        case .firstPurchase, .nonConsumable, .nonRenewing, .consumable: []
        }
    }

    static func record(of kind: EntitleKind, purchase: Int) throws -> ProducerRecord {
        switch kind {
        case .firstPurchase: try period(purchase, 0)
        case .renewal: try period(purchase, 2)
        case .longRenewal: try period(purchase, longRenewals - 1)
        case .refund:
            try period(purchase, 0, signedLater: true) { $0.revocationDate = start + 1000 }
        case .known: try period(purchase, 0, signedLater: true)
        case .notification: try period(purchase, 2, byNotification: true)
        case .nonConsumable: try single(purchase, "lifetime", "Non-Consumable")
        case .nonRenewing: try single(purchase, "season", "Non-Renewing Subscription")
        case .consumable: try single(purchase, "coins", "Consumable")
        case .mixed: try record(of: mixed(purchase), purchase: purchase)
        }
    }

    private static func mixed(_ purchase: Int) -> EntitleKind {
        let kinds = EntitleKind.allCases.filter { $0 != .longRenewal && $0 != .mixed }
        return kinds[purchase % kinds.count]
    }

    static func originalID(_ purchase: Int) -> String {
        String(2_000_000_000_000_000 + purchase)
    }

    private static func period(
        _ purchase: Int,
        _ number: Int,
        signedLater: Bool = false,
        byNotification: Bool = false,
        _ change: (inout TransactionFields) -> Void = { _ in }
    ) throws -> ProducerRecord {
        var fields = fields(purchase, "monthly", "Auto-Renewable Subscription")
        let purchased = start + Int64(number) * month
        if number > 0 {
            fields.transactionID = originalID(1_000_000_000 + purchase * 1000 + number)
        }
        fields.purchaseDate = purchased
        fields.expiresDate = purchased + month
        fields.transactionReason = number == 0 ? "PURCHASE" : "RENEWAL"
        fields.signedDate = purchased + (signedLater ? 2000 : 1000)
        change(&fields)
        return try record(fields, purchase, byNotification: byNotification)
    }

    private static func single(
        _ purchase: Int,
        _ product: String,
        _ type: String
    ) throws -> ProducerRecord {
        var fields = fields(purchase, product, type)
        fields.purchaseDate = start
        fields.signedDate = start + 1000
        return try record(fields, purchase, byNotification: false)
    }

    private static func fields(
        _ purchase: Int,
        _ product: String,
        _ type: String
    ) -> TransactionFields {
        var fields = TransactionFields()
        fields.transactionID = originalID(purchase)
        fields.originalTransactionID = originalID(purchase)
        fields.productID = product
        fields.type = type
        fields.appAccountToken = "7e3fb204-2a0c-4a5e-8f1e-6b1d6f0f3c11"
        fields.appTransactionID = originalID(purchase + 7)
        fields.webOrderLineItemID = originalID(purchase + 9)
        fields.subscriptionGroupIdentifier = "21000001"
        return fields
    }

    /// The record that `link-worker` writes, without the owner, which the database has.
    private static func record(
        _ fields: TransactionFields,
        _ purchase: Int,
        byNotification: Bool
    ) throws -> ProducerRecord {
        var renewal = RenewalFields()
        renewal.originalTransactionID = originalID(purchase)
        let observation = try Observation(
            SignedPayloads(
                transaction: JSONDocument(parsing: fields.json).root,
                renewalInfo: byNotification ? JSONDocument(parsing: renewal.json).root : nil
            ),
            source: ObservationSource(
                RecordPosition(topic: "storekit.raw", partition: 1, offset: 1)
            ),
            environment: .production,
            bundleID: "com.example.pro",
            verification: verification,
            notification: byNotification ? notification(purchase) : nil
        )
        return observation.record(for: "linked")
    }

    private static func notification(_ purchase: Int) -> ObservedNotification {
        ObservedNotification(
            type: "DID_RENEW",
            subtype: nil,
            uuid: "00000000-0000-4000-8000-\(originalID(purchase).suffix(12))",
            signedDate: Timestamp(milliseconds: 1)
        )
    }

    private static let verification = VerificationFacts(
        signedDate: Timestamp(milliseconds: 1),
        leaf: SHA256.digest(Array("certificate".utf8)),
        root: SHA256.digest(Array("certificate".utf8)),
        trust: .apple,
        method: .jws,
        verifier: Verifier.version
    )
}

/// The kind of the measured records.
enum EntitleKind: String, CaseIterable {
    case firstPurchase = "first-purchase"
    case renewal
    case longRenewal = "long-renewal"
    case refund
    case nonConsumable = "non-consumable"
    case nonRenewing = "non-renewing"
    case consumable
    case notification
    case known
    case mixed

    var summary: String {
        switch self {
        case .firstPurchase: "first purchase of a subscription"
        case .renewal: "renewal, the third"
        case .longRenewal: "renewal, the three hundredth"
        case .refund: "refund of a period"
        case .nonConsumable: "non-consumable"
        case .nonRenewing: "non-renewing"
        case .consumable: "consumable"
        case .notification: "renewal by notification, with renewal info"
        case .known: "signed again, content known"
        case .mixed: "all of these but the long one"
        }
    }
}
