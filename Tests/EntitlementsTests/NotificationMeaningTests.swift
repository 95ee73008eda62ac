import Entitlements
import Testing

struct NotificationMeaningTests {
    @Test func `every documented pair has a meaning of its own`() {
        var meanings: Set<NotificationMeaning> = []
        var pairs = 0
        for type in NotificationType.allCases {
            for subtype in [nil] + NotificationSubtype.allCases.map(\.rawValue) {
                let meaning = NotificationMeaning(type: type.rawValue, subtype: subtype)
                if meaning != .unexpectedSubtype {
                    #expect(!meaning.isUnknown)
                    meanings.insert(meaning)
                    pairs += 1
                }
            }
        }
        #expect(pairs == meanings.count)
        #expect(pairs == 23 + 21, "23 types alone, 19 subtypes of which two belong to two types")
        #expect(meanings.count == NotificationMeaning.allCases.count - 3)
    }

    @Test(arguments: [
        ("SUBSCRIBED", "INITIAL_BUY" as String?, NotificationMeaning.subscribedForTheFirstTime),
        ("DID_CHANGE_RENEWAL_PREF", nil, .stayedWithPlan),
        ("OFFER_REDEEMED", "UPGRADE", .offerRedeemedWithUpgrade),
        ("REVOKE", nil, .familySharingLost),
        ("MIGRATE", nil, .migrated),
        ("MIGRATION", nil, .migrated),
        ("DID_RENEW", "UPGRADE", .unexpectedSubtype),
        ("DID_RENEW", "BY_MAGIC", .unknownSubtype),
        ("REVOKED", nil, .unknownType),
        ("", nil, .unknownType),
    ])
    func `type and subtype decide`(
        type: String,
        subtype: String?,
        expected: NotificationMeaning
    ) {
        #expect(NotificationMeaning(type: type, subtype: subtype) == expected)
    }
}
