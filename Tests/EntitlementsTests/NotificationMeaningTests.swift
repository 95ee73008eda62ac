import Entitlements
import Testing

struct NotificationMeaningTests {
    @Test func `every documented pair has a meaning of its own`() {
        var meanings: Set<NotificationMeaning> = []
        var pairs = 0
        // With whichever type they come, they mean the same.
        let withAnyType: Set<NotificationMeaning> = [.seatsIncreased, .seatsDecreased]
        for type in NotificationType.allCases {
            for subtype in [nil] + NotificationSubtype.allCases.map(\.rawValue) {
                let meaning = NotificationMeaning(type: type.rawValue, subtype: subtype)
                if meaning != .unexpectedSubtype {
                    #expect(!meaning.isUnknown)
                    let isNew = meanings.insert(meaning).inserted
                    pairs += withAnyType.contains(meaning) && !isNew ? 0 : 1
                }
            }
        }
        #expect(pairs == meanings.count)
        #expect(pairs == 24 + 24, "24 types alone, 22 subtypes of which two belong to two types")
        // The others are the three unknown ones, and a grace without its end.
        #expect(meanings.count == NotificationMeaning.allCases.count - 4)
    }

    @Test(arguments: [
        ("SUBSCRIBED", "INITIAL_BUY" as String?, NotificationMeaning.subscribedForTheFirstTime),
        ("DID_CHANGE_RENEWAL_PREF", nil, .stayedWithPlan), ("OFFER_REDEEMED", "UPGRADE", .offerRedeemedWithUpgrade),
        ("REVOKE", nil, .familySharingLost), ("MIGRATE", nil, .migrated), ("MIGRATION", nil, .migrated),
        ("UNCLAIM_SEATS", nil, .seatsUnclaimed), ("REFUND", "SEATS", .seatsRefunded),
        ("DID_CHANGE_RENEWAL_PREF", "INCREASE_QUANTITY", .seatsIncreased),
        ("SUBSCRIBED", "DECREASE_QUANTITY", .seatsDecreased), ("DID_RENEW", "UPGRADE", .unexpectedSubtype),
        ("DID_RENEW", "BY_MAGIC", .unknownSubtype), ("REVOKED", nil, .unknownType), ("", nil, .unknownType),
    ]) func `type and subtype decide`(type: String, subtype: String?, expected: NotificationMeaning) {
        #expect(NotificationMeaning(type: type, subtype: subtype) == expected)
    }
}
