import AppStore
import JSON
import Kafka
import OpenSSL
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

    /// What has to be known before records of this kind come.
    static func history(of kind: EntitleKind, purchase: Int) -> [[UInt8]] {
        switch kind {
        case .renewal, .notification: (0..<2).map { period(purchase, $0) }
        case .longRenewal: (0..<(longRenewals - 1)).map { period(purchase, $0) }
        case .refund, .known: [period(purchase, 0)]
        case .mixed: history(of: mixed(purchase), purchase: purchase)
        case .firstPurchase, .nonConsumable, .nonRenewing, .consumable: []
        }
    }

    static func record(of kind: EntitleKind, purchase: Int) -> [UInt8] {
        switch kind {
        case .firstPurchase: period(purchase, 0)
        case .renewal: period(purchase, 2)
        case .longRenewal: period(purchase, longRenewals - 1)
        case .refund: period(purchase, 0, signedLater: true) { $0.revocationDate = start + 1000 }
        case .known: period(purchase, 0, signedLater: true)
        case .notification: period(purchase, 2, byNotification: true)
        case .nonConsumable: single(purchase, "lifetime", "Non-Consumable")
        case .nonRenewing: single(purchase, "season", "Non-Renewing Subscription")
        case .consumable: single(purchase, "coins", "Consumable")
        case .mixed: record(of: mixed(purchase), purchase: purchase)
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
    ) -> [UInt8] {
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
        return value(fields, purchase, byNotification: byNotification)
    }

    private static func single(_ purchase: Int, _ product: String, _ type: String) -> [UInt8] {
        var fields = fields(purchase, product, type)
        fields.purchaseDate = start
        fields.signedDate = start + 1000
        return value(fields, purchase, byNotification: false)
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

    private static func value(
        _ fields: TransactionFields,
        _ purchase: Int,
        byNotification: Bool
    ) -> [UInt8] {
        var renewal: [UInt8]?
        if byNotification {
            var fields = RenewalFields()
            fields.originalTransactionID = originalID(purchase)
            renewal = fields.json
        }
        return Self.observation(
            fields.json,
            renewal: renewal,
            uuid: byNotification
                ? "00000000-0000-4000-8000-\(originalID(purchase).suffix(12))" : nil
        )
    }

    private static func observation(
        _ transaction: [UInt8],
        renewal: [UInt8]?,
        uuid: String?
    ) -> [UInt8] {
        let certificate = SHA256.digest(Array("certificate".utf8)).hex
        var writer = JSONWriter(reserving: 2048)
        writer.beginObject()
        writer.key("schemaVersion")
        writer.int(1)
        writer.key("source")
        writer.raw(#"{"topic":"storekit.raw","partition":1,"offset":1,"index":0,"count":1}"#.utf8)
        writer.key("environment")
        writer.string("Production")
        writer.key("bundleID")
        writer.string("com.example.pro")
        writer.key("transaction")
        writer.raw(transaction)
        if let renewal {
            writer.key("renewalInfo")
            writer.raw(renewal)
        }
        if let uuid {
            writer.key("notification")
            writer.raw(#"{"type":"DID_RENEW","uuid":"\#(uuid)","signedDate":1}"#.utf8)
        }
        writer.key("verification")
        writer.raw(
            (#"{"signedDate":1,"leaf":"\#(certificate)","root":"\#(certificate)","#
                + #""trust":"apple","method":"jws","verifier":"1.0.0"}"#).utf8
        )
        writer.endObject()
        return writer.bytes
    }
}

/// What the measured records are.
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
        case .known: "signed anew, content known"
        case .mixed: "all of these but the long one"
        }
    }
}
