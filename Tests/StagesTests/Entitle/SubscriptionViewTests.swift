import AppStore
import Entitlements
import Foundation
import OpenSSL
import Postgres
import Records
import TestSupport
import Testing

/// The views of subscriptions and purchases, over facts that the stage has stored.
@Suite(.timeLimit(.minutes(10))) struct SubscriptionViewTests {
    private static let now = Int64(Date().timeIntervalSince1970 * 1000)

    private static func day(_ number: Int64) -> Int64 { now + number * 86_400_000 }

    /// A transaction of a period in days from today.
    private static func bought(
        _ id: String, of original: String? = nil, product: String = "pro", from: Int64 = -10, to: Int64 = 20,
        signed: Int64? = nil, revoked: Int64? = nil, type: ProductType = .autoRenewable, _ members: String = ""
    ) throws -> Observation {
        try Signed.transaction(
            id, signed: day(signed ?? from), original: original, product: product, type: type, purchased: day(from),
            expires: day(to), revoked: revoked.map { day($0) }, members: members)
    }

    private static func renewal(
        _ id: String, signed: Int64 = 0, grace: Int64? = nil, status: Int = 1, _ members: String = ""
    ) throws -> Observation {
        try Signed.renewal(
            id, signed: day(signed), graceExpires: grace.map { day($0) }, renewed: grace == nil ? nil : day(-1),
            status: status, members: #","productId":"pro","autoRenewProductId":"pro""# + members)
    }

    private static func receipt(_ observation: Observation) throws -> Observation {
        try observation.with { $0.verification.method = .receipt }
    }

    private static let xcodeTrust = Trust.configured(SHA256.digest([UInt8]()))

    private static func inXcode(_ observation: Observation) throws -> Observation {
        try observation.with {
            $0.environment = .xcode
            $0.verification.trust = xcodeTrust
            $0.verification.method = .jwsXcode
        }
    }

    /// Each purchase is named like its only user, who holds what the row of `subscriptions` says.
    private static let rows: [String: String] = [
        "renewing": """
        status = 'active' AND will_renew AND renews_to = 'pro' AND price = 9990 AND currency = 'EUR' AND NOT is_trial
        AND storefront = 'DEU' AND offer_type IS NULL AND expiration_reason IS NULL AND subscription_group_id = 'plans'
        AND ownership_type = 'PURCHASED' AND renewal_price = 10990 AND renewal_currency = 'USD'
        AND active_until = expires_at AND transaction_id = 'renewing' AND subscribed_since = to_timestamp(2)
        AND original_purchase_date = to_timestamp(1)
        """, "cancelled": "status = 'active' AND NOT will_renew AND renews_to IS NULL",
        "expired": "status = 'expired' AND NOT will_renew AND expiration_reason = 'cancelled' AND active_until < now()",
        "refunded": "status = 'revoked' AND active_until = revoked_at AND NOT will_renew",
        "upgrading": "status = 'active' AND product_id = 'plus' AND transaction_id = 'upgrading-2'",
        "upgraded": "status = 'upgraded' AND product_id = 'pro'",
        "grace": "status = 'in_grace' AND will_renew AND active_until = grace_until AND grace_until > now()",
        // A later renewal info that names no grace withdraws none.
        "grace kept": "status = 'in_grace' AND NOT will_renew AND grace_until > now()",
        "grace over": "status = 'active' AND grace_until IS NULL AND transaction_id = 'grace over-2'",
        "retry": "status = 'in_billing_retry' AND will_renew AND expiration_reason = 'billing_error'",
        "dearer": "status = 'active' AND price_increase = 'pending' AND renewal_price = 10990",
        "consenting": "price_increase = 'consented'",
        "trial": """
        is_trial AND offer_type = 'introductory' AND offer_discount_type = 'FREE_TRIAL' AND price = 0
        AND renewal_offer_type = 'win_back' AND renewal_offer_id = 'back' AND win_back_offer_ids ->> 0 = 'back'
        """, "old offer": "is_trial IS NULL AND offer_type = 'offer_code' AND offer_id = 'SPRING'",
        "member": "ownership_type = 'FAMILY_SHARED' AND status = 'revoked' AND will_renew IS FALSE",
        "Xcode": "environment = 'Xcode' AND status = 'active' AND will_renew AND price = 990",
        "receipt": "status = 'active' AND is_trial AND offer_type = 'introductory' AND will_renew IS NULL",
        "typeless": "status = 'active' AND NOT is_trial",
        "receipt renewed": "status = 'active' AND transaction_id = 'receipt renewed-2' AND price IS NULL",
        "receipt refunded": "status = 'revoked' AND price = 9990", "seats": "status = 'active' AND revoked_at IS NULL",
        "no seats": "status = 'revoked'", "copies": "status = 'revoked'", "line item": "status = 'revoked'",
        // The graces of a period that was followed by another, and of one that was made longer.
        "old grace": "status = 'expired' AND grace_until IS NULL", "extended": "active_until = expires_at",
        "unreadable": """
        status = 'active' AND price IS NULL AND original_purchase_date IS NULL AND offer_type = '9' AND currency = '7'
        """,
    ]

    private static func facts() throws -> [Observation] {
        let price = #","price":9990,"currency":"EUR","storefront":"DEU","originalPurchaseDate":1000"#
        let seats = #","additionalTransactionReason":"SEAT_ADDITION","webOrderLineItemId":"7""#
        let item = #","webOrderLineItemId":"8""#
        let family = #","inAppOwnershipType":"FAMILY_SHARED","revocationType":"FAMILY_REVOKE""#
        let odd = #","price":"9","originalPurchaseDate":99999999999999999,"offerType":9,"currency":7"#
        return [
            try bought("renewing", #","subscriptionGroupIdentifier":"plans","inAppOwnershipType":"PURCHASED""# + price),
            try renewal("renewing", #","renewalPrice":10990,"currency":"USD","recentSubscriptionStartDate":2000"#),
            try bought("cancelled"), try renewal("cancelled", status: 0), try bought("expired", to: -1),
            try renewal("expired", status: 0, #","expirationIntent":1"#), try bought("refunded", revoked: -2),
            try renewal("refunded"), try bought("upgrading", signed: -2, #","isUpgraded":true"#),
            try bought("upgrading-2", of: "upgrading", product: "plus", from: -2),
            try bought("upgraded", #","isUpgraded":true"#), try bought("grace", to: -1), try renewal("grace", grace: 5),
            try bought("grace kept", to: -1), try renewal("grace kept", signed: -1, grace: 5),
            try renewal("grace kept", status: 0), try bought("grace over", to: -1),
            try renewal("grace over", signed: -1, grace: 5), try bought("grace over-2", of: "grace over", from: 0),
            try bought("retry", to: -1), try renewal("retry", #","isInBillingRetryPeriod":true,"expirationIntent":2"#),
            try bought("dearer"), try renewal("dearer", #","priceIncreaseStatus":0,"renewalPrice":10990"#),
            try bought("consenting"), try renewal("consenting", #","priceIncreaseStatus":1"#),
            try bought("trial", #","price":0,"offerType":1,"offerDiscountType":"FREE_TRIAL""#),
            try renewal("trial", #","offerType":4,"offerIdentifier":"back","eligibleWinBackOfferIds":["back"]"#),
            try bought("old offer", #","offerType":3,"offerIdentifier":"SPRING""#),
            try bought("member", revoked: -1, family), try renewal("member"),
            try inXcode(bought("Xcode", #","price":990.0"#)), try inXcode(renewal("Xcode")),
            try receipt(bought("receipt", #","isTrialPeriod":true,"isInIntroOfferPeriod":false"#)),
            try receipt(bought("typeless", type: .other("later"), #","isTrialPeriod":false"#)),
            try bought("receipt renewed", from: -40, to: -10, price),
            try receipt(bought("receipt renewed-2", of: "receipt renewed")), try bought("receipt refunded", price),
            try receipt(bought("receipt refunded", signed: -1, revoked: -2)), try bought("seats", signed: -1, seats),
            try bought("seats-2", of: "seats", from: -5, revoked: -2, seats),
            try bought("no seats", signed: -1, revoked: -2, seats),
            try bought("no seats-2", of: "no seats", from: -5, revoked: -1, seats), try bought("copies", revoked: -1),
            try bought("copies-2", of: "copies"), try bought("unreadable", odd), try bought("unowned"),
            try bought("line item", revoked: -1, item), try bought("line item-2", of: "line item", from: -9, item),
            try bought("old grace", from: -40, to: -1), try renewal("old grace", signed: -1, grace: 5),
            try Signed.transaction(
                "old grace-2", signed: now - 7_200_000, original: "old grace", purchased: now - 7_200_000,
                expires: now - 3_600_000), try bought("extended"), try renewal("extended", grace: 5),
            try receipt(bought("receipt once")).with {
                $0.transaction = try Signed.json(
                    """
                    {"transactionId":"receipt once","originalTransactionId":"receipt once","productId":"pro",
                    "bundleId":"\(Signed.bundleID)","purchaseDate":1000,"environment":"Production","signedDate":2000}
                    """)
            }, try bought("lifetime", type: .nonConsumable), try bought("transferred"),
        ]
    }

    private static func worker() async throws -> EntitleWorker {
        let worker = try await EntitleWorker()
        for user in rows.keys.map({ Identifier($0) }) + ["lifetime", "receipt once"] {
            var key = Signed.key(user.text)
            if user == "Xcode" {
                key.environment = .xcode
                key.originalTransactionID = Identifier(user.text + Environment.xcode.signer(xcodeTrust))
            }
            try await worker.own([key: Ownership(userID: user, rule: .accountToken)])
        }
        let spans = [
            OwnershipSpan(userID: "former"), OwnershipSpan(userID: "present", from: Timestamp(milliseconds: now)),
        ]
        try await worker.own([
            Signed.key("unowned"): Ownership(spans: [], rule: .unlinked),
            Signed.key("transferred"): Ownership(spans: spans, rule: .accountToken),
        ])
        _ = try await worker.process(facts())
        return worker
    }

    @Test func `a subscription has one row that says how it stands, and agrees with has_entitlement`() async throws {
        let client = try await Self.worker().client
        for (user, says) in Self.rows {
            let found = try await client.query(
                "SELECT row_to_json(known)::text, \(says) FROM subscriptions AS known WHERE user_id = $1", [.text(user)]
            )
            #expect(found.count == 1, "\(user)")
            #expect(found.first?.optionalBool(1) == true, "\(user): \(found.first?.text(0) ?? "no row")")
        }
        let contradicting = try await client.query(
            """
            SELECT row_to_json(known)::text FROM subscriptions AS known
            WHERE user_id IS NOT NULL AND (active_until > now()) IS DISTINCT FROM
                has_entitlement(user_id, product_id, environment => environment)
            """)
        #expect(contradicting.map { $0.text(0) } == [])
    }

    @Test func `a subscription belongs to its present owner, and what is bought once has no row`() async throws {
        let client = try await Self.worker().client
        func users(_ purchase: String) async throws -> [String?] {
            try await client.query(
                "SELECT user_id FROM subscriptions WHERE original_transaction_id = $1", [.text(purchase)]
            ).map { $0.optionalText(0) }
        }
        #expect(try await users("transferred") == ["present"])
        #expect(try await users("unowned") == [nil])
        #expect(try await users("lifetime") + users("receipt once") == [])
    }

    private static let transactions: [String: String] = [
        "member": "refund_percentage = 0 AND revocation_type = 'FAMILY_REVOKE' AND ownership_type = 'FAMILY_SHARED'",
        "refunded": "refund_percentage = 100 AND refund_reason IS NULL AND revoked_at IS NOT NULL",
        "receipt refunded": "refund_percentage = 100 AND price = 9990 AND currency = 'EUR'",
        "upgrading": "is_upgraded AND refund_percentage IS NULL", "lifetime": "product_type = 'Non-Consumable'",
        "receipt renewed-2": "price IS NULL AND user_id = 'receipt renewed'", "unowned": "user_id IS NULL",
        "half": "refund_percentage = 50 AND refund_reason = 'app_issue' AND quantity = 3",
        "copies-2": "payment_id = (SELECT payment_id FROM purchases WHERE transaction_id = 'copies')",
        "line item-2": "payment_id = (SELECT payment_id FROM purchases WHERE transaction_id = 'line item')",
        "seats-2": "payment_id <> (SELECT payment_id FROM purchases WHERE transaction_id = 'seats')",
    ]

    @Test func `a purchase has one row for each transaction`() async throws {
        let worker = try await Self.worker()
        _ = try await worker.process([
            try Signed.transaction(
                "half", signed: 2, type: .consumable, revoked: 1, quantity: 3,
                members: #","revocationPercentage":50000,"revocationReason":1"#)
        ])
        for (id, says) in Self.transactions {
            let found = try await worker.client.query(
                "SELECT row_to_json(paid)::text, \(says) FROM purchases AS paid WHERE transaction_id = $1", [.text(id)])
            #expect(found.count == 1, "\(id)")
            #expect(found.first?.optionalBool(1) == true, "\(id): \(found.first?.text(0) ?? "no row")")
        }
    }

    @Test func `the rows of a user and of a purchase are found without reading those of others`() async throws {
        let client = try await StageDatabase.make()
        for statement in [
            """
            INSERT INTO owners (environment, bundle_id, original_transaction_id, user_id, rule)
            SELECT 'Production', 'app', id::text, id::text, 'account_token' FROM generate_series(1, 3000) AS id
            """,
            """
            INSERT INTO transactions (environment, bundle_id, transaction_id, track, signed_date_ms, content_hash, trust,
                original_transaction_id, product_id, product_type, purchase_date_ms)
            SELECT 'Production', 'app', id::text, 'jws', 1, sha256(''), 'apple', id::text, 'pro',
                'Auto-Renewable Subscription', id
            FROM generate_series(1, 3000) AS id
            """,
            """
            INSERT INTO entitlements (environment, bundle_id, original_transaction_id, entitlement_key, user_id, periods)
            SELECT 'Production', 'app', id::text, 'pro', id::text, '{[2026-01-01,)}' FROM generate_series(1, 3000) AS id
            """, "ANALYZE",
        ] { _ = try await client.query(statement) }
        for rows in [
            "subscriptions WHERE user_id = '7'", "purchases WHERE user_id = '7'",
            "purchases WHERE transaction_id = '7'",
            "subscriptions WHERE original_transaction_id = '7' AND environment = 'Production' AND bundle_id = 'app'",
            "held_entitlements('7')",
        ] {
            let lines = try await client.query("EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM \(rows)").map { $0.text(0) }
            let plan = lines.joined(separator: "\n")
            let pages = plan.firstMatch(of: /shared hit=(\d+)/).flatMap { Int($0.1) }
            #expect(plan.contains("actual") && pages.map { $0 < 100 } == true, "\(plan)")
        }
    }

    @Test func `each held entitlement has its subscription, a product bought once has none`() async throws {
        let client = try await Self.worker().client
        let differing = try await client.query(
            """
            SELECT known.user_id FROM subscriptions AS known
            CROSS JOIN LATERAL held_entitlements(known.user_id) AS held
            WHERE known.user_id <> 'receipt once'
                AND held.subscription::jsonb IS DISTINCT FROM jsonb_strip_nulls(to_jsonb(known))
                OR held.expiration_reason IS DISTINCT FROM known.expiration_reason
            """)
        #expect(differing.map { $0.text(0) } == [])
        let lifetime = try await client.query("SELECT subscription FROM held_entitlements('lifetime')")
        #expect(lifetime.map { $0.optionalText(0) } == [nil])
    }
}
