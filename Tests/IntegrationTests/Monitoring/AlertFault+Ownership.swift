import Postgres
import Simulation
import TestSupport
import Testing
import Topology

/// Faults by which an owner is unknown, or not recorded.
extension AlertFault {
    static let ownership = [wrongIngestUsers, lostLinks, refusedOwner, purchasersToken]

    private static let wrongIngestUsers = AlertFault(
        name: "ingestion names two users for one transaction, and one with no name",
        alerts: ["EntitlementsIngestUsersContradict", "EntitlementsIngestUsersIgnored"],
        make: { rig in
            let purchase = rig.purchase()
            try await rig.post(purchase, users: ["anna"])
            try await rig.post(purchase, users: ["bob"])
            try await rig.post(rig.purchase(), users: ["anna", "bob"])
        }, mend: { _ in })

    private static let purchasersToken = AlertFault(
        name: "a member's seat carries the account token of its purchaser",
        alerts: ["EntitlementsSeatsWithPurchasersToken"],
        make: { rig in
            let token = "dddddddd-0000-4000-8000-00000000000d"
            try await rig.post(rig.purchase { $0.appAccountToken = token })
            try await rig.pipeline.settle()
            let seat = rig.purchase { fields in
                fields.appAccountToken = token
                fields.inAppOwnershipType = "ASSIGNED"
            }
            try await rig.post(seat)
        }, mend: { _ in })

    /// link-worker counts both once a minute.
    private static let lostLinks = AlertFault(
        name: "links are lost while no entitle-worker runs",
        alerts: ["EntitlementsUnownedPurchasesGrow", "EntitlementsOwnersUnprojected"],
        make: { rig in
            let copy = rig.pipeline.copies.first { $0.stage == .entitle }
            try await rig.pipeline.stop(try #require(copy))
            try await rig.pipeline.execute(
                """
                CREATE TABLE links_kept AS SELECT * FROM account_links;
                DELETE FROM account_links;
                """)
        },
        mend: { rig in
            try await rig.pipeline.execute(
                """
                INSERT INTO account_links SELECT * FROM links_kept;
                DROP TABLE links_kept
                """)
            try await rig.restart(.entitle)
        })

    /// A company's own rule on the table stands for any value that PostgreSQL rejects.
    private static let refusedOwner = AlertFault(
        name: "PostgreSQL refuses the owner of a new link", alerts: ["EntitlementsOwnersRefused"],
        make: { rig in
            try await rig.pipeline.execute(
                """
                ALTER TABLE owners ADD CONSTRAINT of_the_company
                CHECK (user_id <> 'refused') NOT VALID;
                INSERT INTO account_links (kind, key, user_id)
                SELECT 'original_transaction_id', original_transaction_id, 'refused'
                FROM owners ORDER BY 2 LIMIT 1
                ON CONFLICT (key, kind, environment, bundle_id)
                DO UPDATE SET user_id = excluded.user_id
                """)
        }, mend: { rig in try await rig.pipeline.execute("ALTER TABLE owners DROP CONSTRAINT of_the_company") })
}
