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
