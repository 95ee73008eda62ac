import AppStore
import Entitlements
import Foundation
import JSON
import Operations
import Postgres
import Store
import TestSupport
import Testing

/// Stored plans, and `pipeline catalog apply --plan`.
@Suite(.timeLimit(.minutes(10))) struct StoredPlanTests {
    private static let anna = Ownership(userID: "anna", rule: .accountToken)
    private static let ben = Ownership(userID: "ben", rule: .accountToken)
    private static let later: Int64 = 4_102_444_800_000

    private static func catalog(_ keys: String) -> [UInt8] {
        Array(#"{"products":{"pro":{"type":"auto-renewable","entitlements":[\#(keys)]}}}"#.utf8)
    }

    /// Subscriptions of the users under the key `pro`, and the path of a catalog that renames it.
    private static func rig(_ owners: Ownership...) async throws -> (rig: PlanRig, renaming: String) {
        let rig = try await PlanRig()
        try await rig.worker.apply(catalog: catalog(#""pro""#))
        try await rig.worker.reproject()
        for (number, owner) in owners.enumerated() { try await buy("\(number)", owner, rig) }
        return (rig, try rig.file(catalog(#""prp""#)))
    }

    private static func buy(_ id: String, _ owner: Ownership, _ rig: PlanRig) async throws {
        try await rig.worker.own([Signed.key(id): owner])
        _ = try await rig.worker.process([try Signed.transaction(id, signed: 1, expires: later)])
    }

    private static func show(_ plan: Int, _ rig: PlanRig) async throws -> JSONValue {
        let end = await rig.run("plan", "show", "\(plan)", "--json")
        #expect(end.code == 0, "\(end)")
        return try JSONDocument(parsing: Array(end.output.utf8)).root
    }

    @Test func `a stored plan is applied as it was planned, and its changes name it`() async throws {
        let (rig, path) = try await Self.rig(Self.anna, Self.ben)
        let planned = await rig.run("plan", "--catalog", path, "--by", "eva", "--reason", "a rename", "--json")
        let plan = try JSONDocument(parsing: Array(planned.output.utf8)).root
        let hash = try #require(plan["sha256"]?.string)
        #expect(plan["plan"]?.int64 == 1 && hash.utf8.count == 64)
        let before = try await Self.show(1, rig)
        #expect(before["sha256"]?.string == hash && before["requested_by"]?.string == "eva")
        #expect(before["applied"]?.isNull == true && before["result"]?["losing_users"]?.int64 == 2)
        #expect(await rig.run("plan", "show", "1").output.contains("by eva: catalog, against catalog version 1"))

        #expect(await rig.run("catalog", "apply", "--plan", "1", "--hash", "0").code == 1)
        let applied = await rig.run("catalog", "apply", "--plan", "1", "--hash", hash, "--by", "ben")
        #expect(applied.code == 0 && applied.output.contains("applied as version 2"), "\(applied)")
        // The answer was lost, and the command is repeated.
        let again = await rig.run("catalog", "apply", "--plan", "1")
        #expect(again.code == 0 && again.output.contains("was applied as version 2"), "\(again)")
        #expect(await rig.run("plan", "show", "1").output.contains("entitle-worker has not begun"))

        try await rig.worker.reproject()
        let after = await rig.run("plan", "show", "1")
        #expect(after.output.contains("and projected: as planned"), "\(after)")
        let outcome = try #require(try await Self.show(1, rig)["applied"]?["outcome"])
        let lost = try #require(outcome.elements.first { $0["what"]?.string == "keys lost" })
        #expect(lost["planned"]?.int64 == 2 && lost["happened"]?.int64 == 2)
        #expect(lost["of"]?.string?.hasPrefix("Production pro ") == true)

        let explained = await rig.run("explain", "anna", "--json")
        let changes = try JSONDocument(parsing: Array(explained.output.utf8)).root["changes"]
        let named = try #require(changes).elements.map { "\($0["cause"]?.string ?? "") \($0["plan"]?.int64 ?? 0)" }
        #expect(named.filter { $0.hasPrefix("catalog") } == ["catalog 1", "catalog 1"], "\(named)")
        #expect(named.contains("transaction 0"))
    }

    @Test func `the progress of a projection that ends while it is read is no lower than before`() async throws {
        let (rig, path) = try await Self.rig(Self.anna, Self.ben)
        _ = await rig.run("plan", "--catalog", path)
        _ = await rig.run("catalog", "apply", "--plan", "1")
        let other = try await rig.worker.client.connect()
        _ = try await other.query(
            "UPDATE catalog_projection SET target = 2, after_original_transaction_id = '1', after_environment = 'Z'")
        _ = try await other.query("BEGIN")
        _ = try await other.query("LOCK TABLE transactions IN ACCESS EXCLUSIVE MODE")
        async let shown = Self.show(1, rig)
        try await eventually("the count waits") {
            try await !other.query("SELECT FROM pg_locks WHERE relation = 'transactions'::regclass AND NOT granted")
                .isEmpty
        }
        _ = try await rig.worker.client.run(CatalogProjection.finish)
        _ = try await other.query("COMMIT")
        let applied = try await shown["applied"]
        #expect(applied?["transactions_done"]?.int64 == 2 && applied?["transactions"]?.int64 == 2)
        await other.close()
    }

    @Test func `facts that came since are named, and allowed up to a share`() async throws {
        let (rig, path) = try await Self.rig(Self.anna)
        #expect(await rig.run("plan", "--catalog", path).output.contains("plan 1, sha256 "))
        try await Self.buy("8", Self.ben, rig)
        let refused = await rig.run("catalog", "apply", "--plan", "1")
        #expect(refused.code == 1 && refused.output.contains("transactions of pro: 1"), "\(refused)")
        #expect(refused.output.contains("users changed by transaction for pro: 1"), "\(refused)")
        #expect(refused.output.contains(/losing_users +1 +2/), "\(refused)")
        #expect(await rig.run("catalog", "apply", "--plan", "1", "--allow-drift", "99").code == 1)
        #expect(try await rig.worker.count("catalog_versions") == 1)
        let allowed = await rig.run("catalog", "apply", "--plan", "1", "--allow-drift", "100")
        #expect(allowed.code == 0, "\(allowed)")
    }

    @Test func `a number out of its bounds in a stored plan is a difference`() async throws {
        let (rig, path) = try await Self.rig(Self.anna)
        _ = await rig.run("plan", "--catalog", path)
        _ = try await rig.worker.client.query(
            """
            UPDATE plans SET result = replace(regexp_replace(result::text, '"users_digest":"[^"]*"', '"users_digest":""'),
                '"losing_users":1', '"losing_users":-9223372036854775808')::json
            """)
        let refused = await rig.run("catalog", "apply", "--plan", "1", "--allow-drift", "100")
        #expect(refused.code == 1 && refused.output.contains("losing_users"), "\(refused)")
    }

    @Test func `as many users, but others, are another plan`() async throws {
        let (rig, path) = try await Self.rig(Self.anna)
        _ = await rig.run("plan", "--catalog", path)
        try await rig.worker.own([Signed.key("0"): Self.ben])
        _ = try await rig.worker.process([try Signed.transaction("0", signed: 2, expires: Self.later)])
        let refused = await rig.run("catalog", "apply", "--plan", "1")
        #expect(refused.code == 1 && refused.notes.contains("as many users, but others"), "\(refused)")
        #expect(await rig.run("catalog", "apply", "--plan", "1", "--allow-drift", "1").code == 0)
    }

    @Test func `a renewal that changes no effect is no drift`() async throws {
        let (rig, path) = try await Self.rig(Self.anna)
        _ = await rig.run("plan", "--catalog", path)
        _ = try await rig.worker.process([try Signed.transaction("0", signed: 2, expires: Self.later + 1_000)])
        let applied = await rig.run("catalog", "apply", "--plan", "1")
        #expect(applied.code == 0, "\(applied)")
    }

    @Test func `a plan against a former catalog is refused`() async throws {
        let (rig, path) = try await Self.rig(Self.anna)
        _ = await rig.run("plan", "--catalog", path)
        #expect(await rig.run("catalog", "apply", try rig.file(Self.catalog(#""pro","max""#))).code == 0)
        let refused = await rig.run("catalog", "apply", "--plan", "1")
        #expect(refused.code == 1 && refused.notes.contains("catalog version 2 came into force"), "\(refused)")
        // Between planning and applying another session applied a catalog.
        let other = try StorableCatalog(Self.catalog(#""prp""#))
        let connection = try await rig.worker.client.connect()
        await #expect(throws: CatalogTable.Superseded.self) {
            try await CatalogTable.apply(other, after: 1, on: connection)
        }
        await connection.close()
        #expect(try await rig.worker.count("catalog_versions") == 2)
    }

    @Test func `a catalog by which users lose access is applied by the plan that its refusal names`() async throws {
        let (rig, path) = try await Self.rig(Self.anna)
        let refused = await rig.run("catalog", "apply", path)
        #expect(refused.code == 1 && refused.notes.contains("catalog apply --plan 1'"), "\(refused)")
        #expect(await rig.run("catalog", "apply", "--plan", "1").code == 0)
        try await rig.worker.reproject()
        let back = await rig.run("catalog", "revert")
        #expect(back.code == 1 && back.notes.contains("catalog apply --plan 2'"), "\(back)")
        #expect(await rig.run("catalog", "apply", "--plan", "2").code == 0)
        let former = await rig.run("catalog", "apply", "--plan", "1")
        #expect(former.code == 1 && former.output.contains("version 3 holds now"), "\(former)")
        let list = await rig.run("plan", "list")
        #expect(list.code == 0 && list.output.split(separator: "\n").count == 3, "\(list)")
        #expect(await rig.run("plan", "show", "9").code == 1)
    }

    @Test func `links and rules are planned with a number, and applied by commands of their own`() async throws {
        let (rig, path) = try await Self.rig(Self.anna)
        _ = try await rig.worker.client.query(
            "INSERT INTO linking_rules (policy, tokens_are_user_ids, trusts_ingestion) VALUES ('transfer', true, false)"
        )
        let links = try rig.file(Array("original_transaction_id,0,ben\n".utf8))
        let planned = await rig.run("plan", "--catalog", path, "--link-file", links)
        #expect(planned.code == 0 && planned.output.contains("plan 1, sha256"), "\(planned)")
        let refused = await rig.run("catalog", "apply", "--plan", "1")
        #expect(refused.code == 1 && refused.notes.contains("pipeline link add --from"), "\(refused)")
        #expect(try await Self.show(1, rig)["input"]?["links"]?["count"]?.int64 == 1)
    }

    @Test func `a role that may only read plans without a number`() async throws {
        let (rig, path) = try await Self.rig(Self.anna)
        let role = "reader\(UUID().uuidString.prefix(8).lowercased())"
        let owner = try await rig.worker.client.connect()
        try await owner.execute(
            script: """
                CREATE ROLE \(role) LOGIN PASSWORD '\(role)';
                GRANT SELECT ON ALL TABLES IN SCHEMA public TO \(role);
                """)
        await owner.close()
        let url = rig.url.replacing(/\/\/[^@]+@/, with: "//\(role):\(role)@")
        let end = await PipelineTool.run(["plan", "--catalog", path], on: url)
        #expect(end.code == 0 && end.output.contains("1 user would lose a key"), "\(end)")
        #expect(end.notes.contains("the plan is not stored") && !end.output.contains("sha256"), "\(end)")
        // Nor may it ask whether the user is known.
        let unasked = await PipelineTool.run(["plan", "--catalog", path, "--user", "ben", "--json"], on: url)
        let user = #""user":{"user_id":"ben","is_known":null}"#
        #expect(unasked.code == 0 && unasked.output.contains(user), "\(unasked)")
        #expect(try await rig.worker.count("plans") == 0)
    }

    @Test func `old plans go, except those that were applied`() async throws {
        let (rig, path) = try await Self.rig()
        #expect(await rig.run("catalog", "apply", path).code == 0)
        _ = try await rig.worker.client.query(
            """
            INSERT INTO plans (planned_at, catalog_version, input, result)
            SELECT now(), 1, '{}', '{}' FROM generate_series(1, 1001)
            """)
        let kept = try await rig.worker.client.query("SELECT min(plan), count(*) FROM plans")[0]
        #expect(kept.int8(0) == 1 && kept.int8(1) == 1_001)
    }
}
