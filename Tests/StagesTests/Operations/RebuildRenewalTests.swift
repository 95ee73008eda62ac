import AppStore
import Entitlements
import Postgres
import Simulation
import TestSupport
import Testing

/// `pipeline rebuild` derives renewal infos, graces and app transactions from signed contents
/// again.
@Suite(.timeLimit(.minutes(10))) struct RebuildRenewalTests {
    private static func rig() async throws -> RebuildRig {
        let rig = try await RebuildRig()
        try await rig.settle([
            .purchase("1", until: 9_000),
            .renewal("1", content: "A", signed: 1) {
                $0.gracePeriodExpiresDate = 12_000
                $0.renewalDate = 9_000
            }, .renewal("1", content: "B", signed: 2) { $0.appAccountToken = LinkWorker.anna },
            .purchase("2", until: 9_000), .renewal("2") { $0.gracePeriodExpiresDate = 11_000 },
            .renewal("3", content: "A", signed: 1), .renewal("3", content: "B", signed: 2),
            download(version: "1.0", signed: 1_000), download(version: "2.0", signed: 2_000),
        ])
        return rig
    }

    private static func download(version: String, signed: Int64) -> Sample {
        var fields = AppTransactionFields()
        fields.appTransactionID = RebuildRig.account
        fields.applicationVersion = version
        fields.receiptCreationDate = signed
        return Sample(appTransaction: fields)
    }

    @Test func `renewal infos that follow from signed contents are no difference`() async throws {
        let rig = try await Self.rig()
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
        #expect(try await rig.entitle.count("renewal_spans") == 2)
        #expect(try await rig.entitle.count("app_downloads") == 1)
    }

    @Test(arguments: [
        ("product_id = 'other'", "differs from what was signed in product_id"),
        ("auto_renew_status = 0, renewal_date_ms = 5", "auto_renew_status, renewal_date_ms"),
        ("account_token = '\(LinkWorker.bob)'", "account_token"),
        ("grace_period_expires_date_ms = 5", "grace_period_expires_date_ms"),
        ("signed_date_ms = 1", "is behind a newer content in signed_date_ms"),
    ]) func `a changed column is named and repaired`(_ change: String, _ said: String) async throws {
        let rig = try await Self.rig()
        try await rig.expectMended(
            "UPDATE renewals SET \(change) WHERE original_transaction_id = '1'", saying: "Production 1 renewals: ", said
        )
    }

    @Test func `a missing row is written from its content and link-worker's facts`() async throws {
        let rig = try await Self.rig()
        try await rig.expectMended("DELETE FROM renewals", saying: "1 renewals: has no row")
        try await rig.expectMended(
            """
            WITH gone AS (
                DELETE FROM ownership_renewals WHERE original_transaction_id = '2'
            )
            DELETE FROM renewals WHERE original_transaction_id = '2'
            """, saying: "Production 2 renewals: has no row")
        try await rig.expectUnmended(
            """
            WITH gone AS (
                DELETE FROM ownership_renewals WHERE original_transaction_id = '3'
            ), owned AS (
                INSERT INTO owners (environment, bundle_id, original_transaction_id, rule)
                VALUES ('Production', 'com.example.pro', '3', 'unlinked')
            )
            DELETE FROM renewals WHERE original_transaction_id = '3'
            """, saying: "which of its contents is the newest is not known", "the raw record is storekit.raw/0/1")
    }

    @Test func `a missing grace comes back, with its entitlement`() async throws {
        let rig = try await Self.rig()
        try await rig.expectMended(
            "DELETE FROM renewal_spans WHERE original_transaction_id = '1'",
            saying: "Production 1 renewal_spans: lacks the grace until 12000")
    }

    @Test func `a grace without a source is removed, with its entitlement`() async throws {
        let rig = try await Self.rig()
        for renewalDate in ["9000", "NULL"] {
            try await rig.expectMended(
                """
                INSERT INTO renewal_spans
                VALUES ('Production', '1', 'apple', 99000, \(renewalDate))
                """, saying: "Production 1 renewal_spans: no content grants the grace until 99000")
        }
    }

    @Test func `link-worker's facts of a renewal info are compared too`() async throws {
        let rig = try await Self.rig()
        try await rig.expectMended(
            """
            UPDATE ownership_renewals SET account_token = '\(LinkWorker.bob)'
            WHERE original_transaction_id = '1'
            """, saying: "Production 1 ownership_renewals: differs from what was signed in account_token")
        try await rig.expectMended("DELETE FROM ownership_renewals", saying: "ownership_renewals")
    }

    @Test func `an app transaction's row is compared and repaired`() async throws {
        let rig = try await Self.rig()
        try await rig.expectMended(
            "UPDATE app_downloads SET original_application_version = '0.1'",
            saying: "app_downloads: differs from what was signed in original_application_version")
        try await rig.expectMended(
            """
            UPDATE app_downloads SET (signed_date_ms, content_hash) = (
                SELECT signed_date_ms, content_hash FROM revisions WHERE signed_date_ms = 1000
            )
            """, saying: "app_downloads: is behind")
        try await rig.expectUnmended(
            "DELETE FROM app_downloads", saying: "app_downloads: has no row, and who vouched", "storekit.raw/0/1")
    }
}
