import Postgres
import Simulation
import TestSupport
import Testing

/// Records that are refused, new to this version, or rejected by the database.
extension AlertFault {
    static let records = [refusedBodies, newFromApple, conflict, largeUser, refusedProjection, refusedEvent]

    /// Refused bodies, published until every alert about them has had its time.
    private static let refusedBodies = AlertFault(
        name: "bodies of every kind that is refused",
        alerts: [
            "EntitlementsForgedBodies", "EntitlementsStaleBodies", "EntitlementsMisroutedBodies",
            "EntitlementsCorruptBodies", "EntitlementsDeadLetterRatio", "EntitlementsDeadLettersAlike",
        ],
        make: { rig in
            let refused = rig.pipeline.traffic.items.filter { $0.expectedRefusal != nil }
            for _ in 0..<12 {
                try await rig.pipeline.publish(refused)
                try await rig.pipeline.settle()
            }
        }, mend: { _ in })

    private static let newFromApple = AlertFault(
        name: "a notification, its body, a product and a type that are new",
        alerts: [
            "EntitlementsNewKind", "EntitlementsUnknownNotification", "EntitlementsUnknownProduct",
            "EntitlementsUnknownProductType",
        ],
        make: { rig in
            try await rig.post(rig.purchase { $0.productID = "com.example.pro.unlisted" })
            // The catalog would know the type of a product that it lists.
            let purchase = rig.purchase { fields in
                fields.productID = "com.example.pro.new"
                fields.type = "Something New"
            }
            try await rig.post(purchase)
            try await rig.post(try rig.notification("SOMETHING_NEW"))
            var fields = NotificationFields()
            fields.overrides["somethingNew"] = "{}"
            let jws = try rig.pipeline.traffic.authority.sign(fields.json)
            try await rig.post(Body.notification(jws))
        }, mend: { _ in })

    private static let conflict = AlertFault(
        name: "Apple signs two products for one transaction", alerts: ["EntitlementsContradictions"],
        make: { rig in
            var purchase = rig.purchase()
            try await rig.post(purchase)
            purchase.productID = "com.example.pro.season"
            purchase.signedDate = purchase.signedDate.map { $0 + 1_000 }
            try await rig.post(purchase)
        }, mend: { _ in })

    private static let largeUser = AlertFault(
        name: "a user holds more than a record of the feed can carry", alerts: ["EntitlementsFeedIncomplete"],
        make: { rig in
            let purchase = rig.purchase()
            let id = try #require(purchase.originalTransactionID)
            try await rig.pipeline.execute(
                """
                INSERT INTO entitlements (environment, bundle_id, original_transaction_id,
                    entitlement_key, user_id, periods)
                SELECT 'Production', 'com.example.pro', 'purchase-' || n, 'key-' || n,
                    'hoarder', tstzmultirange(tstzrange(timestamptz '2026-01-01', NULL))
                FROM generate_series(1, 20000) AS n;
                INSERT INTO account_links (kind, key, user_id)
                VALUES ('original_transaction_id', '\(id)', 'hoarder')
                """)
            try await rig.post(purchase)
        },
        mend: { rig in try await rig.pipeline.execute("DELETE FROM entitlements WHERE entitlement_key LIKE 'key-%'") })

    /// A company's own rule on the table stands for any value that PostgreSQL rejects.
    private static let refusedProjection = AlertFault(
        name: "PostgreSQL refuses what a new catalog grants", alerts: ["EntitlementsRefusedByDatabase"],
        make: { rig in
            try await rig.pipeline.execute(
                """
                ALTER TABLE entitlements ADD CONSTRAINT of_the_company
                CHECK (entitlement_key NOT LIKE '%-refused') NOT VALID
                """)
            try await rig.apply(catalog: rig.catalog { $0 + "-refused" })
        },
        mend: { rig in
            try await rig.pipeline.execute("ALTER TABLE entitlements DROP CONSTRAINT of_the_company")
            try await rig.apply(catalog: rig.catalog { $0 })
        })

    /// A period ends, and PostgreSQL refuses to move its row on.
    private static let refusedEvent = AlertFault(
        name: "PostgreSQL refuses the row of a period that has ended", alerts: ["EntitlementsBoundariesLate"],
        make: { rig in
            try await rig.pipeline.execute(
                """
                INSERT INTO entitlements (environment, bundle_id, original_transaction_id,
                    entitlement_key, user_id, periods)
                VALUES ('Production', 'com.example.pro', 'purchase-ended', 'ended', 'user-ended',
                    tstzmultirange(tstzrange(timestamptz '2026-01-01', clock_timestamp() + interval '1 s')));
                ALTER TABLE entitlements ADD CONSTRAINT of_the_company
                CHECK (entitlement_key <> 'ended') NOT VALID
                """)
        }, mend: { rig in try await rig.pipeline.execute("ALTER TABLE entitlements DROP CONSTRAINT of_the_company") },
        restore: { rig in try await rig.pipeline.execute("DELETE FROM entitlements WHERE user_id = 'user-ended'") })
}
