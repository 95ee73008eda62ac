import AppStore
import Entitlements
import Postgres
import Simulation
import TestSupport
import Testing

/// A newer word withdraws nothing by its silence: an account token and an `appTransactionId` are
/// those of the newest revision that names one.
@Suite(.timeLimit(.minutes(10))) struct OwnerNamingTests {
    private static let anna = LinkWorker.anna
    private static let bob = LinkWorker.bob
    private static let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]

    /// Anna's token, later bob's, later none.
    private static let transactions = [
        purchase(signed: 1, token: anna, account: "701"), purchase(signed: 2, token: bob, account: "702"),
        purchase(signed: 3, token: nil, account: nil),
    ]

    private static func purchase(signed: Int64, token: String?, account: String?) -> Sample {
        Sample.purchase("1", signed: signed, token: token, account: account).with {
            $0.transaction?.storefront = "\(signed)"
        }
    }

    private static func renewal(signed: Int64, token: String?) -> Sample {
        Sample.renewal("1", content: "\(signed)", signed: signed) { $0.appAccountToken = token }
    }

    /// The rows of both stages' tables that name the owner.
    private static func names(_ rig: RebuildRig, _ tables: [String]) async throws -> Set<String> {
        var names: Set<String> = []
        for table in tables {
            let rows = try await rig.client.query(
                """
                SELECT concat_ws(' ', signed_date_ms, coalesce(account_token, 'none'),
                    coalesce(token_signed_date_ms::text, 'newest'),
                    coalesce(app_transaction_id, 'none'),
                    coalesce(app_transaction_signed_date_ms::text, 'newest'))
                FROM \(table)
                """)
            names.formUnion(rows.map { $0.text(0) })
        }
        return names
    }

    @Test(arguments: orders, [true, false]) func `a transaction keeps its token in any order of its revisions`(
        order: [Int], isOneBatch: Bool
    ) async throws {
        let rig = try await RebuildRig()
        let samples = order.map { Self.transactions[$0] }
        if isOneBatch { try await rig.settle(batch: samples) } else { try await rig.settle(samples) }
        #expect(try await rig.link.owners() == ["1 bob account_token"])
        let names = try await Self.names(rig, ["ownership_facts", "transactions"])
        #expect(names == ["3 \(Self.bob) 2 702 2"])
        // Forgotten by every cache, and published again.
        try await rig.settle(Self.transactions)
        #expect(try await Self.names(rig, ["ownership_facts", "transactions"]) == names)
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
    }

    @Test(arguments: orders) func `a renewal info keeps its token in any order of its revisions`(order: [Int])
        async throws
    {
        let rig = try await RebuildRig()
        let infos = [
            Self.renewal(signed: 1, token: Self.anna), Self.renewal(signed: 2, token: Self.bob),
            Self.renewal(signed: 3, token: nil),
        ]
        try await rig.settle([.purchase("1")] + order.map { infos[$0] })
        #expect(try await rig.link.owners() == ["1 bob renewal_token"])
        let names = try await Self.names(rig, ["ownership_renewals", "renewals"])
        #expect(names == ["3 \(Self.bob) 2 none newest"])
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
    }

    @Test func `a token that is signed again later counts from then on`() async throws {
        let rig = try await RebuildRig()
        let again = Self.purchase(signed: 1, token: Self.anna, account: "701").with { $0.transaction?.signedDate = 4 }
        try await rig.settle([
            Self.transactions[0], Self.transactions[2], again, Self.purchase(signed: 5, token: nil, account: nil),
            Self.transactions[1],
        ])
        #expect(try await rig.link.owners() == ["1 anna account_token"])
        let names = try await Self.names(rig, ["ownership_facts", "transactions"])
        #expect(names == ["5 \(Self.anna) 4 701 4"])
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
    }

    @Test func `an older revision that names the owner leaves the revocation of the newest`() async throws {
        let rig = try await RebuildRig()
        let revoked = Self.purchase(signed: 2, token: nil, account: nil).with { $0.transaction?.revocationDate = 1_500 }
        try await rig.settle([revoked, Self.purchase(signed: 1, token: Self.anna, account: "701")])
        let rows = try await rig.client.query("SELECT account_token, revocation_date_ms FROM ownership_facts")
        #expect(rows.map { "\($0.text(0)) \($0.optionalInt8(1) ?? 0)" } == ["\(Self.anna) 1500"])
    }

    @Test func `a receipt leaves the token of the JWS`() async throws {
        let rig = try await RebuildRig()
        let receipt = Self.purchase(signed: 9, token: nil, account: nil).with { $0.method = .receipt }
        try await rig.settle([Self.transactions[1], receipt, Self.transactions[2]])
        #expect(try await rig.link.owners() == ["1 bob account_token"])
    }

    @Test func `an ID that begins again keeps nothing of the purchase before`() async throws {
        let rig = try await RebuildRig()
        try await rig.settle(
            [Self.transactions[0], Self.transactions[2]].map { sample in
                sample.with {
                    $0.environment = .xcode
                    $0.transaction?.environment = "Xcode"
                }
            })
        #expect(try await rig.link.owners() == ["1 nobody unlinked"])
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
    }

    @Test func `the purchase behind an absent account follows its link`() async throws {
        let rig = try await RebuildRig()
        try await rig.link.link("app_transaction_id", "701", "dora")
        try await rig.settle([
            Self.purchase(signed: 1, token: nil, account: "701"), Self.purchase(signed: 2, token: nil, account: nil),
        ])
        #expect(try await rig.link.owners() == ["1 dora app_transaction_link"])
    }

    @Test(arguments: [
        (0, "transactions 1 (jws): differs from what was signed in account_token"),
        (1, "ownership_facts 1 (jws): differs from what was signed in account_token"),
    ]) func `rows that were written without an older name are found and mended`(table: Int, phrase: String) async throws
    {
        let rig = try await RebuildRig()
        try await rig.settle(Self.transactions)
        // As the version before left them.
        try await rig.expectMended(
            """
            UPDATE \(["transactions", "ownership_facts"][table]) SET account_token = NULL,
                token_signed_date_ms = NULL, token_content_hash = NULL,
                app_transaction_id = NULL, app_transaction_signed_date_ms = NULL,
                app_transaction_content_hash = NULL
            """, saying: phrase)
    }

    @Test func `the owner that the version before took away comes back`() async throws {
        let rig = try await RebuildRig()
        try await rig.settle(Self.transactions)
        let none = "account_token = NULL, token_signed_date_ms = NULL, token_content_hash = NULL"
        try await rig.query("UPDATE transactions SET \(none)")
        try await rig.query("UPDATE ownership_facts SET \(none)")
        try await rig.query("UPDATE owners SET user_id = NULL, direct_user_id = NULL")
        #expect(await rig.rebuild("--replace").code == 1)
        #expect(try await rig.link.owners() == ["1 bob account_token"])
    }

    @Test func `a content that names the owner is missed where it is gone`() async throws {
        let rig = try await RebuildRig()
        try await rig.settle(Self.transactions)
        try await rig.expectUnmended(
            "DELETE FROM revisions WHERE payload ->> 'appAccountToken' = '\(Self.bob)'",
            saying: "1 transactions 1 (jws): the content that token_content_hash names is not in")
    }

    @Test func `a forgotten token comes back by a newer word alone`() async throws {
        let rig = try await RebuildRig(OwnershipRules(tokensAreUserIDs: true))
        try await rig.settle(Self.transactions)
        #expect(try await rig.link.owners() == ["1 \(Self.bob) account_token"])
        let forget = ["forget", Self.bob, "--by", "dpo", "--reason", "r"]
        #expect(await rig.run(forget).code == 0)
        try await rig.settle(Self.transactions)
        #expect(try await rig.link.owners() == ["1 nobody unlinked"])
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
        #expect(await rig.run(forget).code == 1)
        try await rig.settle([Self.purchase(signed: 4, token: Self.bob, account: nil)])
        #expect(try await rig.link.owners() == ["1 \(Self.bob) account_token"])
    }
}
