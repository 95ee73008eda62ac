import JSON

/// The checks of "ConsumptionRequest", "ConsumptionRequestV1" and of the pages of their members (App Store Server API
/// 1.19).
enum ConsumptionRequest {
    private static let members = [
        "customerConsented", "consumptionPercentage", "deliveryStatus", "refundPreference", "sampleContentProvided",
    ]
    private static let statuses = [
        "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM", "UNDELIVERED_SERVER_OUTAGE",
        "UNDELIVERED_OTHER",
    ]

    /// Checks an answer to the endpoint of one version.
    ///
    /// - Parameter transaction: the signed payload; the first version is for Advanced Commerce alone, and the second
    ///   for everything else.
    static func check(_ body: [UInt8], isFirstVersion: Bool, of transaction: JSONValue?) throws(AppleError) {
        guard let root = try? JSONDocument(parsing: body).root, root.kind == .object else { throw .badRequest }
        guard transaction?["inAppOwnershipType"]?.isString("ASSIGNED") != true else { throw .assignedTransaction }
        let isAdvancedCommerce = transaction?["advancedCommerceInfo"] != nil
        guard isAdvancedCommerce == isFirstVersion else {
            throw isAdvancedCommerce ? .advancedCommerce : .transactionType
        }
        guard root["customerConsented"]?.bool == true else { throw .invalidCustomerConsented }
        guard root["sampleContentProvided"]?.bool != nil else { throw .badRequest }
        guard !isFirstVersion else { return try checkFirst(root) }
        try check(root, of: transaction?["type"]?.string)
    }

    private static func check(_ root: JSONValue, of type: String?) throws(AppleError) {
        guard root.members.allSatisfy({ members.contains($0.key.string ?? "") }) else { throw .badRequest }
        guard let status = root["deliveryStatus"]?.string, statuses.contains(status) else {
            throw .invalidDeliveryStatus
        }
        let preference = root["refundPreference"].map { $0.string ?? "" }
        guard [nil, "DECLINE", "GRANT_FULL", "GRANT_PRORATED"].contains(preference) else { throw .badRequest }
        guard let member = root["consumptionPercentage"] else {
            guard preference != "GRANT_PRORATED" || type == "Auto-Renewable Subscription" else { throw .badRequest }
            return
        }
        guard type != "Auto-Renewable Subscription" else { throw .percentageOfSubscription }
        guard let share = member.int64, (0...100_000).contains(share), status == "DELIVERED" || share == 0,
            preference != "GRANT_PRORATED" || (1..<100_000).contains(share)
        else { throw .badRequest }
    }

    /// The ranges of the first version's numbers; all but the preference are required.
    private static let numbers: [(name: String, max: Int64, isRequired: Bool)] = [
        ("accountTenure", 7, true), ("consumptionStatus", 3, true), ("deliveryStatus", 5, true),
        ("lifetimeDollarsPurchased", 7, true), ("lifetimeDollarsRefunded", 7, true), ("platform", 2, true),
        ("playTime", 7, true), ("userStatus", 4, true), ("refundPreference", 3, false),
    ]

    private static func checkFirst(_ root: JSONValue) throws(AppleError) {
        let known = numbers.map(\.name) + ["appAccountToken", "customerConsented", "sampleContentProvided"]
        guard root.members.allSatisfy({ known.contains($0.key.string ?? "") }),
            let token = root["appAccountToken"]?.string, token.isEmpty || token.utf8.count == 36
        else { throw .badRequest }
        for (name, max, isRequired) in numbers where isRequired || root[name] != nil {
            guard let number = root[name]?.int64, (0...max).contains(number) else { throw .badRequest }
        }
    }
}
