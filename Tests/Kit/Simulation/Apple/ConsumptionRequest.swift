import JSON

/// The checks of "ConsumptionRequest" and of the pages of its members (App Store Server API 1.19).
enum ConsumptionRequest {
    private static let members = [
        "customerConsented", "consumptionPercentage", "deliveryStatus", "refundPreference", "sampleContentProvided",
    ]
    private static let statuses = [
        "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM", "UNDELIVERED_SERVER_OUTAGE",
        "UNDELIVERED_OTHER",
    ]

    static func check(_ body: [UInt8], of purchase: AppleWorld.Transaction?) throws(AppleError) {
        guard let root = try? JSONDocument(parsing: body).root, root.kind == .object,
            root.members.allSatisfy({ members.contains($0.key.string ?? "") })
        else { throw .badRequest }
        guard root["customerConsented"]?.bool == true else { throw .invalidCustomerConsented }
        guard let status = root["deliveryStatus"]?.string, statuses.contains(status) else {
            throw .invalidDeliveryStatus
        }
        guard root["sampleContentProvided"]?.bool != nil else { throw .badRequest }
        let preference = root["refundPreference"].map { $0.string ?? "" }
        guard [nil, "DECLINE", "GRANT_FULL", "GRANT_PRORATED"].contains(preference) else { throw .badRequest }
        let type = purchase.flatMap { UnverifiedJWS($0.jws)?.payload["type"]?.string }
        guard let member = root["consumptionPercentage"] else {
            guard preference != "GRANT_PRORATED" || type == "Auto-Renewable Subscription" else { throw .badRequest }
            return
        }
        guard type != "Auto-Renewable Subscription" else { throw .percentageOfSubscription }
        guard let share = member.int64, (0...100_000).contains(share), status == "DELIVERED" || share == 0,
            preference != "GRANT_PRORATED" || (1..<100_000).contains(share)
        else { throw .badRequest }
    }
}
