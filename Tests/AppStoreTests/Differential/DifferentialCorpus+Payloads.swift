import AppStore
import Simulation

extension DifferentialCorpus {
    /// A payload of a kind, signed at a date when all certificates are valid.
    mutating func payload(
        _ kind: PayloadKind, isForUs: Bool = true, signedDate: Int64? = 1_767_225_601_000,
        overrides: [String: String] = [:]
    ) -> [UInt8] {
        let environments = isForUs ? ["Production", "Sandbox"] : ["Sandbox", "Xcode", "production"]
        let environment = pick(environments)
        let bundleID = isForUs ? Minted.bundleID : pick([Minted.bundleID, "com.example.x", ""])
        let number = isForUs ? Minted.appAppleID : pick([Minted.appAppleID, 7])
        switch kind {
        case .transaction:
            var fields = TransactionFields()
            (fields.environment, fields.bundleID) = (environment, bundleID)
            (fields.signedDate, fields.overrides) = (signedDate, overrides)
            return fields.json
        case .renewalInfo:
            var fields = RenewalFields()
            fields.environment = environment
            (fields.signedDate, fields.overrides) = (signedDate, overrides)
            return fields.json
        case .appTransaction:
            var fields = AppTransactionFields()
            (fields.receiptType, fields.bundleID) = (environment, bundleID)
            fields.appAppleID = number
            (fields.receiptCreationDate, fields.overrides) = (signedDate, overrides)
            return fields.json
        case .notification:
            var data = NotificationDataFields()
            (data.environment, data.bundleID) = (environment, bundleID)
            data.appAppleID = number
            var fields = NotificationFields()
            fields.data = data.json
            (fields.signedDate, fields.overrides) = (signedDate, overrides)
            return fields.json
        }
    }

    /// A signed date at the bounds of the windows, or of another form.
    mutating func redated(_ kind: PayloadKind) throws -> DifferentialBody {
        guard Int.random(in: 0..<4, using: &random) > 0 else { return try misdated(kind) }
        let bound = pick(DifferentialAuthorities.bounds) * 1000
        let offset = pick([-1_001, -1_000, -999, -1, 0, 1, 999, 1_000, 1_001] as [Int64])
        let payload = payload(kind, signedDate: bound + offset)
        return body(kind, try authorities.good.sign(payload), "date at a bound")
    }

    private mutating func misdated(_ kind: PayloadKind) throws -> DifferentialBody {
        let name = kind == .appTransaction ? "receiptCreationDate" : "signedDate"
        let value = pick([
            nil, "null", #""1767225601000""#, "1767225601000.75", "1.767225601e12", "-1", "0", "1e400", "true", "[]",
            "{}", #""""#, "99999999999999999999",
        ])
        let overrides = value.map { [name: $0] } ?? [:]
        let payload = payload(kind, signedDate: nil, overrides: overrides)
        let form = value ?? "none"
        return body(kind, try authorities.good.sign(payload), "signed date \(form)")
    }

    /// Changes a member, adds one, or changes payload bytes before signing.
    mutating func refielded(_ kind: PayloadKind) throws -> DifferentialBody {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return try rewritten(kind)
        case 1: return try claiming(kind)
        default: return try retyped(kind)
        }
    }

    private static let values = [
        "null", "true", "7", "-7", "1.5", #""x""#, #""""#, "[]", "{}", "1e400", #""\u0000""#, #""\ud800""#,
        #""2026-01-01""#, "99999999999999999999", "NaN",
    ]

    private mutating func retyped(_ kind: PayloadKind) throws -> DifferentialBody {
        let name = pick(Self.fields(of: kind))
        let value = pick(Self.values)
        let payload = payload(kind, overrides: [name: value])
        return body(kind, try authorities.good.sign(payload), "\(name) \(value)")
    }

    /// Claims of JWT that no payload of Apple's has.
    private mutating func claiming(_ kind: PayloadKind) throws -> DifferentialBody {
        let name = pick(["exp", "nbf", "iat", "aud", "iss", "sub", "jti"])
        let value = pick(["1", "99999999999", #""x""#, "null", #"["x"]"#])
        let payload = payload(kind, overrides: [name: value])
        return body(kind, try authorities.good.sign(payload), "claim \(name) \(value)")
    }

    private mutating func rewritten(_ kind: PayloadKind) throws -> DifferentialBody {
        var payload = payload(kind)
        let place = Int.random(in: payload.indices, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: payload.remove(at: place)
        case 1: payload.insert(UInt8.random(in: 0...255, using: &random), at: place)
        case 2: payload = Array(payload[..<place])
        default: payload[place] = pick(Array(#""{}[],:\ 019aet.-"#.utf8))
        }
        return body(kind, try authorities.good.sign(payload), "payload rewritten")
    }

    private static func fields(of kind: PayloadKind) -> [String] {
        switch kind {
        case .transaction:
            [
                "transactionId", "originalTransactionId", "productId", "purchaseDate", "type", "quantity", "price",
                "environment", "bundleId", "appAccountToken", "isUpgraded", "revocationReason", "offerType",
                "storefront", "advancedCommerceInfo",
            ]
        case .renewalInfo:
            [
                "originalTransactionId", "autoRenewStatus", "autoRenewProductId", "environment", "expirationIntent",
                "renewalDate", "eligibleWinBackOfferIds", "renewalPrice",
            ]
        case .appTransaction:
            [
                "receiptType", "appAppleId", "bundleId", "applicationVersion", "appTransactionId",
                "originalPurchaseDate", "originalPlatform", "preorderDate",
            ]
        case .notification: ["notificationType", "subtype", "notificationUUID", "data", "version", "summary"]
        }
    }
}
