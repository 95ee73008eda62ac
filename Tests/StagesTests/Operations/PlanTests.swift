import AppStore
import EntitleStage
import Entitlements
import Foundation
import JSON
import Operations
import Postgres
import Store
import TestSupport
import Testing
import Worker

/// `pipeline plan` on rows that `entitle-worker` has written.
@Suite(.timeLimit(.minutes(10))) struct PlanTests {
    private static let anna = Ownership(userID: "anna", rule: .accountToken)
    private static let ben = Ownership(userID: "ben", rule: .accountToken)
    /// UNIX milliseconds in the years 2100 and 2101.
    private static let (later, latest): (Int64, Int64) = (4_102_444_800_000, 4_133_980_800_000)

    private static func catalog(_ products: String) -> [UInt8] { Array("{\"products\":{\(products)}}".utf8) }

    /// A subscription of each of the users, and a product of its own name that grants the key too.
    private static func rig(_ owners: [Ownership], then products: String = #""pro":{"type":"auto-renewable"}"#)
        async throws -> PlanRig
    {
        let rig = try await PlanRig()
        try await rig.worker.apply(catalog: catalog(products))
        try await rig.worker.reproject()
        for (number, owner) in owners.enumerated() {
            try await rig.worker.own([Signed.key("\(number)"): owner])
            _ = try await rig.worker.process([try Signed.transaction("\(number)", signed: 1, expires: later)])
        }
        return rig
    }

    @Test func `a renamed key names who would lose it, and writes nothing`() async throws {
        let rig = try await Self.rig([Self.anna, Self.ben, Self.ben])
        let before = try await rig.picture()
        let plan = try await rig.plan(Self.catalog(#""pro":{"type":"auto-renewable","entitlements":["prp"]}"#))
        #expect(plan["purchases"]?.int64 == 3 && plan["rows"]?.int64 == 6)
        #expect(plan["users"]?.effects == [[2, 2, 0, 0]])
        #expect(
            plan["keys"]?.effects == [[0, 2, 0, 0], [2, 0, 0, 0]]
                || plan["keys"]?.effects == [[2, 0, 0, 0], [0, 2, 0, 0]])
        #expect(plan["users_by_product"]?.effects == [[2, 2, 0, 0]])
        #expect(plan["users_by_rule"]?.elements.map { $0["rule"]?.string } == ["billed_period"])
        #expect(plan["losing_users"]?.int64 == 2)
        #expect(plan["vanishing_keys"]?.strings == ["pro"] && plan["new_keys"]?.strings == ["prp"])
        let samples = Array(try #require(plan["samples"]).elements)
        #expect(
            samples.map { "\($0["effect"]?.string ?? "") \($0["user_id"]?.string ?? "")" } == [
                "lost anna", "lost ben", "gained anna", "gained ben",
            ])
        let purchase = try #require(samples[0]["purchases"]?.elements.first { _ in true })
        for (side, key) in [("held", "pro"), ("planned", "prp")] {
            let rule = try #require(purchase[side]?.elements.first { _ in true })
            #expect(rule["rule"]?.string == "billed_period" && rule["grants"]?.strings == [key])
        }
        #expect(try await rig.picture() == before)
    }

    @Test func `a lost key ends with 1 from the given number of users on`() async throws {
        let rig = try await Self.rig([Self.anna, Self.ben])
        let path = try rig.file(Self.catalog(#""pro":{"type":"auto-renewable","entitlements":[]}"#))
        for (limit, code) in [(1, 1), (2, 1), (3, 0)] as [(Int, Int32)] {
            let end = await rig.run("plan", "--catalog", path, "--fail-if-lost", "\(limit)")
            #expect(end.code == code, "\(end)")
            #expect(end.output.contains("2 users would lose a key"), "\(end)")
        }
        #expect(await rig.run("plan", "--catalog", path, "--at", "yesterday").code == 64)
        #expect(await rig.run("plan").code == 64)
    }

    @Test func `a limit is met by one element of the list with its names`() async throws {
        let rig = try await Self.rig([Self.anna, Self.ben])
        let path = try rig.file(Self.catalog(#""pro":{"type":"auto-renewable","entitlements":["prp"]}"#))
        for (limits, code) in [
            (["lost > 0"], 1), (["lost > 2"], 0), (["lost>=2 and key=\"pro\""], 1), (["lost > 0 and key = \"prp\""], 0),
            (["lost > 0 and key != \"pro\""], 0),
            (["gained > 1 and key = \"prp\" and environment = \"Production\""], 1), (["rows < 4"], 0),
            (["rows <= 4"], 1), (["lost = 2 and rule = \"billed_period\""], 1), (["lost = 2 and product = \"pro\""], 1),
            (["overdrawn > 0"], 0), (["overdrawn > 0", "rows = 4"], 1),
        ] as [([String], Int32)] {
            let end = await PipelineTool.run(
                ["plan", "--catalog", path] + limits.flatMap { ["--fail-if", $0] }, on: rig.url)
            #expect(end.code == code && end.notes.contains("limits met") == (code == 1), "\(limits): \(end)")
        }
    }

    @Test(arguments: [
        ("", "column 1: expected a name"), ("lots > 0", "column 1: expected a name, did you mean lost?"),
        ("lost", "column 5: expected =, !=, <, <=, > or >="), ("lost > many", "column 8: expected a whole number"),
        ("lost > 99999999999999999999", "column 8: expected a whole number"),
        ("key < \"pro\"", "column 5: expected = or !="), ("key = pro", "column 7: expected a text in \"quotes\""),
        ("key = \"pro", "column 11: expected a closing quote"),
        ("lost > 0 or rows > 0", "column 10: expected \"and\" or the end"),
        ("lost > 0 and", "column 13: expected a name"),
        ("lost > 0 and currency = \"coins\"", "no list of the plan has currency and lost"),
    ]) func `a wrong limit names its place`(limit: String, fault: String) async throws {
        let end = await PipelineTool.run(
            ["plan", "--forget", "anna", "--fail-if", limit], on: "postgres://nobody@nowhere/x")
        #expect(end.code == 64 && end.notes.contains(fault), "\(end)")
    }

    @Test func `a key that another purchase or a grant still grants is not lost`() async throws {
        let both = #""pro":{"type":"auto-renewable"},"max":{"type":"auto-renewable","entitlements":["pro"]}"#
        let rig = try await Self.rig([Self.anna, Self.ben], then: both)
        try await rig.worker.own([Signed.key("9"): Self.anna])
        _ = try await rig.worker.process([try Signed.transaction("9", signed: 1, product: "max", expires: Self.latest)])
        _ = try await rig.worker.client.query("SELECT grant_entitlement('ben', 'pro', NULL, 'a gift', 'eva')")
        let next = #""pro":{"type":"auto-renewable"},"max":{"type":"auto-renewable","entitlements":[]}"#
        let shorter = try await rig.plan(Self.catalog(next))
        // Anna keeps the key by the first purchase, until an earlier end.
        #expect(shorter["users"]?.effects == [[0, 0, 1, 0]])
        #expect(shorter["losing_users"]?.int64 == 1)
        let other =
            #""pro":{"type":"auto-renewable","entitlements":[]},"max":{"type":"auto-renewable","entitlements":["pro"]}"#
        let kept = try await rig.plan(Self.catalog(other))
        #expect(kept["rows"]?.int64 == 2 && kept["users"]?.effects == [[0, 0, 0, 0]])
        #expect(kept["losing_users"]?.int64 == 0)
    }

    @Test func `users are counted at each instant, by their access at it`() async throws {
        let rig = try await Self.rig([Self.anna])
        let plan = try await rig.plan(
            Self.catalog(#""pro":{"type":"auto-renewable","entitlements":[]}"#), "--at", "now,+30d,2100-06-01")
        #expect(plan["users"]?.effects == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    }

    @Test func `a shorter duration moves the whole stack, and each user is counted once`() async throws {
        let rig = try await Self.rig([])
        try await rig.worker.apply(catalog: Self.catalog(#""pass":{"type":"non-renewing","duration":"P100Y"}"#))
        try await rig.worker.reproject()
        for id in ["a", "b"] {
            try await rig.worker.own([Signed.key(id): Self.anna])
            _ = try await rig.worker.process([
                try Signed.transaction(id, signed: 1, product: "pass", type: .nonRenewing, purchased: 10)
            ])
        }
        let plan = try await rig.plan(Self.catalog(#""pass":{"type":"non-renewing","duration":"P50Y"}"#))
        #expect(plan["rows"]?.int64 == 2 && plan["users"]?.effects == [[0, 0, 1, 0]])
        let sample = try #require(plan["samples"]?.elements.first { _ in true })
        #expect(sample["planned"]?.elements.map { $0["end"]?.string ?? "" } == ["2070-01-01T00:00:00.010Z"])
    }

    @Test func `a smaller credit names the balances that would fall below zero`() async throws {
        let coins = #""coins":{"type":"consumable","credits":{"coins":"#
        let rig = try await Self.rig([], then: coins + "100}}")
        for (id, owner) in [("1", Self.anna), ("2", Self.ben)] {
            try await rig.worker.own([Signed.key(id): owner])
            _ = try await rig.worker.process([
                try Signed.transaction(id, signed: 1, product: "coins", type: .consumable)
            ])
        }
        _ = try await rig.worker.client.query("SELECT ledger_debit('ben', 'coins', 80, 'r')")
        let plan = try await rig.plan(Self.catalog(coins + "50}}"))
        let balances = try #require(plan["balances"]?.elements.first { _ in true })
        #expect(balances["users"]?.int64 == 2 && balances["debited"]?.int64 == 100)
        #expect(balances["credited"]?.int64 == 0 && balances["overdrawn"]?.int64 == 1)
        let refused = await rig.run("catalog", "apply", try rig.file(Self.catalog(coins + "50}}")))
        #expect(refused.code == 1, "\(refused)")
        let more = await rig.run("catalog", "apply", try rig.file(Self.catalog(coins + "150}}")))
        #expect(more.code == 0, "\(more)")
    }

    @Test func `a catalog by which users lose access is applied with --yes alone`() async throws {
        let rig = try await Self.rig([Self.anna])
        let path = try rig.file(Self.catalog(#""pro":{"type":"auto-renewable","entitlements":["prp"]}"#))
        let refused = await rig.run("catalog", "apply", path)
        #expect(refused.code == 1 && refused.output.contains("1 user would lose a key"), "\(refused)")
        #expect(refused.notes.contains("--yes"))
        #expect(try await rig.worker.count("catalog_versions") == 1)
        #expect(await rig.run("catalog", "apply", path, "--yes").code == 0)
        // It is in force, even if no worker has projected it.
        #expect(await rig.run("catalog", "apply", path).code == 0)
        #expect(try await rig.worker.count("catalog_versions") == 2)
        try await rig.worker.reproject()
        // The key of the mistake ends.
        #expect(await rig.run("catalog", "revert").code == 1)
        let reverted = await rig.run("catalog", "revert", "--yes", "--by", "eva")
        #expect(reverted.code == 0 && reverted.output.contains("applied as version 3"), "\(reverted)")
        try await rig.worker.reproject()
        #expect(try await rig.worker.rows().values.flatMap { $0 }.map(\.key) == ["pro"])
        let back = try rig.file(Self.catalog(#""pro":{"type":"auto-renewable","entitlements":["prp","pro"]}"#))
        #expect(await rig.run("catalog", "apply", back).code == 0)
        let fresh = try await PlanRig()
        #expect(await fresh.run("catalog", "revert").code == 1)
    }

    @Test func `a catalog that cannot be read is replaced by a readable one`() async throws {
        let rig = try await Self.rig([Self.anna])
        try await rig.worker.apply(catalog: Array(#"{"products":"unreadable"}"#.utf8))
        let path = try rig.file(Self.catalog(#""pro":{"type":"auto-renewable"}"#))
        let end = await rig.run("catalog", "apply", path)
        #expect(end.code == 0, "\(end)")
    }

    @Test func `no lock of a worker holds a plan up`() async throws {
        let rig = try await Self.rig([Self.anna])
        let worker = try await rig.worker.client.connect()
        _ = try await worker.query("BEGIN")
        for lock in [
            "lock_projection(ARRAY['Production'], ARRAY['0'])", "lock_users(ARRAY['anna'])", "lock_shared('catalog')",
        ] { _ = try await worker.query("SELECT \(lock)") }
        _ = try await worker.query("SELECT * FROM entitlements FOR UPDATE")
        let plan = try await rig.plan(Self.catalog(#""pro":{"type":"auto-renewable","entitlements":[]}"#))
        #expect(plan["users"]?.effects == [[1, 0, 0, 0]])
        await worker.close()
    }

    @Test func `no session waits for a lock of a plan, in any sample of the server's waits`() async throws {
        let rig = try await Self.rig([Self.anna, Self.ben])
        let path = try rig.file(Self.catalog(#""pro":{"type":"auto-renewable","entitlements":[]}"#))
        let isOver = Flag()
        try await withThrowingTaskGroup(of: (plans: Int, waits: Int).self) { group in
            group.addTask {
                while !isOver.isRaised { #expect(await rig.run("plan", "--catalog", path).code == 0) }
                return (0, 0)
            }
            group.addTask {
                let sampler = try await rig.worker.client.connect()
                var seen = (plans: 0, waits: 0)
                while !isOver.isRaised {
                    let sample = try await sampler.query(
                        """
                        SELECT count(*) FILTER (WHERE plan.state <> 'idle'), count(waiting.pid)
                        FROM pg_stat_activity AS plan
                        LEFT JOIN pg_stat_activity AS waiting ON plan.pid = ANY (pg_blocking_pids(waiting.pid))
                        WHERE plan.application_name = 'pipeline' AND plan.datname = current_database()
                        """)[0]
                    seen = (seen.plans + Int(sample.int8(0)), seen.waits + Int(sample.int8(1)))
                }
                await sampler.close()
                return seen
            }
            for number in 10..<100 {
                try await rig.worker.own([Signed.key("\(number)"): Self.anna])
                let bought = try Signed.transaction("\(number)", signed: 1, expires: Self.later)
                _ = try await rig.worker.process([bought])
            }
            isOver.raise()
            let seen = try await group.reduce(into: (plans: 0, waits: 0)) { sum, part in
                sum = (sum.plans + part.plans, sum.waits + part.waits)
            }
            #expect(seen.plans > 10 && seen.waits == 0, "\(seen)")
        }
    }

    @Test func `a user without samples is told from an unknown one`() async throws {
        let rig = try await Self.rig([Self.anna])
        _ = try await rig.worker.client.query("SELECT grant_entitlement('ben', 'pro', NULL, 'a gift', 'eva')")
        let catalog = Self.catalog(#""pro":{"type":"auto-renewable","entitlements":[]}"#)
        let path = try rig.file(catalog)
        for (user, phrase, isKnown, samples) in [
            ("anna", "user id: anna", true, 1), ("ben", "no access of ben would change at these instants", true, 0),
            ("Anna", "nothing is known of Anna", false, 0),
        ] {
            let end = await rig.run("plan", "--catalog", path, "--user", user)
            #expect(end.code == 0 && end.output.contains(phrase), "\(end)")
            let plan = try await rig.plan(catalog, "--user", user)
            #expect(plan["user"]?["user_id"]?.string == user && plan["user"]?["is_known"]?.bool == isKnown)
            #expect(Array(try #require(plan["samples"]).elements).count == samples)
        }
        #expect(try await rig.plan(catalog)["user"]?.isNull == true)
        #expect(try await rig.plan(catalog, "--user", "ben", "--samples", "0")["user"]?.isNull == true)
    }

    @Test func `an operator has the rights that a plan needs`() async throws {
        let rig = try await Self.rig([Self.anna])
        let role = "p\(UUID().uuidString.prefix(8).lowercased())-\(DatabaseRole.operations.name)"
        let owner = try await rig.worker.client.connect()
        try await owner.execute(
            script: DatabaseRole.script([.operations], schema: "public", prefix: String(role.prefix(10)))
                + "ALTER ROLE \"\(role)\" PASSWORD '\(role)';")
        await owner.close()
        let path = try rig.file(Self.catalog(#""pro":{"type":"auto-renewable","entitlements":[]}"#))
        let url = rig.url.replacing(/\/\/[^@]+@/, with: "//\(role):\(role)@")
        _ = try await rig.worker.client.run(LinkingRulesTable.write, OwnershipRules())
        for more in [[], ["--linking.policy", "keep", "--forget", "anna"]] as [[String]] {
            let end = await PipelineTool.run(["plan", "--catalog", path, "--json"] + more, on: url)
            #expect(end.code == 0 && end.output.contains("\"lost\":1"), "\(end)")
        }
    }
}

/// An entitle worker, and `pipeline` on its database.
final class PlanRig: Sendable {
    let worker: EntitleWorker
    let url: String
    private let folder = FileManager.default.temporaryDirectory.appending(path: "plan-\(UUID().uuidString)")

    init() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        worker = try await EntitleWorker(on: PostgresClient(options, connectionsMax: 4))
        url = options.connectionString
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func file(_ catalog: [UInt8]) throws -> String {
        let path = folder.appending(path: "\(UUID().uuidString).json")
        try Data(catalog).write(to: path)
        return path.path
    }

    func run(_ arguments: String...) async -> (code: Int32, output: String, notes: String) {
        await PipelineTool.run(arguments, on: url)
    }

    func plan(_ catalog: [UInt8], _ options: String...) async throws -> JSONValue {
        let end = await PipelineTool.run(["plan", "--json", "--catalog", try file(catalog)] + options, on: url)
        #expect(end.code == 0, "\(end)")
        return try JSONDocument(parsing: Array(end.output.utf8)).root
    }

    /// All rows that a projection writes.
    func picture() async throws -> [String] {
        let tables = [
            "entitlements", "ledger", "stacked_purchases", "changes", "catalog_versions", "catalog_projection",
        ]
        let rows = tables.map { "SELECT '\($0) ' || row_to_json(t)::text FROM \($0) AS t" }
        return try await worker.client.query("\(rows.joined(separator: " UNION ALL ")) ORDER BY 1").map { $0.text(0) }
    }
}

extension JSONValue {
    fileprivate var strings: [String] { elements.map { $0.string ?? "" } }

    /// The numbers of users of each element: lost, gained, earlier, later.
    fileprivate var effects: [[Int64]] {
        elements.map { users in ["lost", "gained", "earlier", "later"].map { users[$0]?.int64 ?? -1 } }
    }
}
