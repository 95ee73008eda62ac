import AppStore
import EntitleStage
import Entitlements
import Postgres
import Records
import Telemetry
import TestSupport
import Testing
import Worker

/// A catalog that is applied when purchases are already known.
struct EntitleCatalogTests {
    @Test(arguments: Scenario.names.enumerated().filter { $0.offset % 4 == 0 }.map(\.element))
    func `a catalog applied after the facts gives the same rows as one applied before`(name: String) async throws {
        let scenario = try Scenario.load(name)
        let worker = try await EntitleWorker()
        var facts = FactSet()
        for observation in scenario.observations { facts.add(observation) }
        let fold = scenario.fold(facts)
        try await worker.own(fold.ownership)
        _ = try await worker.process(scenario.observations)
        try await worker.apply(catalog: Array(#"{"products":{}}"#.utf8))
        try await worker.apply(catalog: scenario.catalogJSON)
        try await worker.reproject()
        #expect(try await worker.rows() == fold.rows)
        #expect(try await worker.rowsByHistory() == fold.rows)
        #expect(try await worker.balances() == scenario.balances)
        #expect(try await worker.usersWithBrokenVersions() == [])
    }

    @Test func `a key attached to a product is granted to everyone who owns it`() async throws {
        let worker = try await EntitleWorker()
        try await worker.apply(catalog: Self.catalog(keys: #"["pro"]"#))
        try await worker.reproject()
        for number in 0..<5 {
            let owner = Ownership(userID: "user-\(number)", rule: .accountToken)
            try await worker.own([Signed.key("\(number)"): owner])
        }
        _ = try await worker.process(try (0..<5).map { try Signed.transaction("\($0)", signed: 1) })
        let before = try await worker.count("changes")
        try await worker.apply(catalog: Self.catalog(keys: #"["pro","cloud"]"#))
        try await worker.reproject()
        let rows = try await worker.client.query(
            """
            SELECT user_id, old_periods, entitlement_key, catalog_version::int8, cause_id
            FROM changes WHERE cause = 'catalog' ORDER BY 1
            """)
        #expect(rows.map { $0.text(0) } == (0..<5).map { "user-\($0)" })
        #expect(rows.allSatisfy { $0.text(2) == "cloud" && $0.int8(3) == 2 })
        #expect(rows.allSatisfy { $0.text(4) == "2" })
        #expect(try await worker.count("changes") == before + 5)
        try await worker.reproject()
        #expect(try await worker.count("changes") == before + 5)
    }

    @Test func `every change names the catalog by which it was made`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Ownership(userID: "anna", rule: .accountToken)])
        _ = try await worker.process([try Signed.transaction("1", signed: 1, expires: 500)])
        try await worker.apply(catalog: Self.catalog(keys: #"["pro"]"#))
        _ = try await worker.process([try Signed.transaction("1", signed: 2, expires: 900)])
        let versions = try await worker.client.query("SELECT catalog_version::int8 FROM changes ORDER BY version")
        #expect(versions.map { $0.optionalInt8(0) } == [nil, 1])
    }

    @Test func `catalogs that come and go leave the rows of the last one`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Ownership(userID: "anna", rule: .accountToken)])
        try await worker.apply(catalog: Self.catalog(keys: #"["pro"]"#))
        try await worker.reproject()
        _ = try await worker.process([try Signed.transaction("1", signed: 1)])
        try await worker.apply(catalog: Self.catalog(keys: #"["other"]"#))
        // A record in between is projected by the withdrawn catalog.
        _ = try await worker.process([try Signed.transaction("1", signed: 2, expires: 900)])
        #expect(try await worker.keys() == ["other"])
        try await worker.apply(catalog: Self.catalog(keys: #"["pro"]"#))
        try await worker.reproject()
        #expect(try await worker.keys() == ["pro"])
    }

    /// A projection by version 1, an unreadable version 2 that another version of the program began
    /// with, and a good version 3.
    private static func interrupted(readable: Int) async throws -> EntitleWorker {
        let worker = try await EntitleWorker()
        for original in ["1", "2", "3"] {
            try await worker.own([Signed.key(original): Ownership(userID: "anna", rule: .accountToken)])
        }
        try await worker.apply(catalog: catalog(keys: #"["old"]"#))
        try await worker.reproject()
        _ = try await worker.process(try ["1", "2", "3"].map { try Signed.transaction($0, signed: 1) })
        #expect(try await worker.keys() == ["old"])
        try await worker.apply(catalog: Array(#"{"products":"unreadable"}"#.utf8))
        _ = try await worker.client.query(
            """
            UPDATE catalog_projection SET version = \(readable), target = 2,
                after_original_transaction_id = '2', after_environment = 'Production'
            """)
        return worker
    }

    @Test(arguments: [1, 2]) func `a stored catalog that cannot be read is passed over once another one is applied`(
        version: Int
    ) async throws {
        let worker = try await Self.interrupted(readable: version)
        await #expect(throws: (any Error).self) { try await worker.reproject() }
        try await worker.apply(catalog: Self.catalog(keys: #"["new"]"#))
        try await worker.reproject()
        let rows = try await worker.client.query(
            "SELECT entitlement_key FROM entitlements ORDER BY original_transaction_id")
        #expect(rows.map { $0.text(0) } == ["new", "new", "new"])
        let state = try await worker.client.query("SELECT version::int8, target::int8 FROM catalog_projection")[0]
        #expect(state.int8(0) == 3)
        #expect(state.optionalInt8(1) == nil)
    }

    @Test func `a catalog that cannot be read is named with what to do`() async throws {
        let worker = try await Self.interrupted(readable: 1)
        await #expect { _ = try await worker.process([try Signed.transaction("9", signed: 1)]) } throws: {
            "\($0)".contains("catalog version 2 cannot be read, apply another one")
        }
    }

    @Test func `another copy continues where the first one stopped`() async throws {
        let worker = try await EntitleWorker()
        let originals = (0..<6).map { "\($0)" }
        for original in originals {
            let owner = Ownership(userID: "anna", rule: .accountToken)
            try await worker.own([Signed.key(original): owner])
        }
        _ = try await worker.process(try originals.map { try Signed.transaction($0, signed: 1) })
        try await worker.apply(catalog: Self.catalog(keys: #"["new"]"#))
        _ = try await worker.client.query(
            """
            UPDATE catalog_projection SET target = 1, after_original_transaction_id = '3',
                after_environment = 'Production'
            """)
        try await worker.reproject()
        let done = try await worker.client.query(
            """
            SELECT original_transaction_id FROM entitlements WHERE entitlement_key = 'new'
            ORDER BY 1
            """)
        #expect(done.map { $0.text(0) } == ["4", "5"])
        let state = try await worker.client.query("SELECT version::int8, target::int8 FROM catalog_projection")[0]
        #expect(state.int8(0) == 1)
        #expect(state.optionalInt8(1) == nil)
    }

    @Test func `it waits for a batch that projects by the former catalog`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Ownership(userID: "anna", rule: .accountToken)])
        let late = try await worker.client.connect()
        _ = try await late.query("BEGIN")
        _ = try await late.query("SELECT pg_advisory_xact_lock_shared(hashtextextended('catalog', 0))")
        try await worker.apply(catalog: Self.catalog(keys: #"["new"]"#))
        async let reprojection: Void = worker.reproject()
        try await eventually("the reprojection waits") {
            try await worker.client.query(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND state = 'active'
                  AND query LIKE 'SELECT wait_for_sharers%'
                """)[0].int8(0) > 0
        }
        // The rows of the late batch did not exist when the new catalog was applied.
        _ = try await late.query(
            """
            INSERT INTO transactions (environment, bundle_id, transaction_id, track,
                signed_date_ms, content_hash, trust, original_transaction_id, product_id,
                purchase_date_ms, product_type, quantity, expires_date_ms)
            VALUES ('Production', $1, '1', 'jws', 1, sha256('x'), 'apple', '1', 'pro', 10,
                'Auto-Renewable Subscription', 1, 1000)
            """, [.text(Signed.bundleID.text)])
        _ = try await late.query("COMMIT")
        try await reprojection
        #expect(try await worker.keys() == ["new"])
        await late.close()
    }

    @Test func `one of several copies works, and all see it done`() async throws {
        let worker = try await EntitleWorker()
        let originals = (0..<300).map { "\($0)" }
        let owner = Ownership(userID: "anna", rule: .accountToken)
        try await worker.own(Dictionary(uniqueKeysWithValues: originals.map { (Signed.key($0), owner) }))
        _ = try await worker.process(try originals.map { try Signed.transaction($0, signed: 1) })
        try await worker.apply(catalog: Self.catalog(keys: #"["new"]"#))
        var copies: [EntitleWorker] = [worker]
        for _ in 0..<2 { copies.append(try await EntitleWorker(on: worker.client)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for copy in copies { group.addTask { try await copy.reproject() } }
            try await group.waitForAll()
        }
        let counts = try copies.map { copy in
            let text = String(decoding: copy.registry.exposition(), as: UTF8.self)
            let line = try #require(
                text.split(separator: "\n").first {
                    !$0.hasPrefix("#") && $0.contains("entitle_reprojected_purchases_total ")
                })
            return line.split(separator: " ").last.flatMap { Int($0) } ?? -1
        }
        #expect(counts.reduce(0, +) == 300)
        #expect(try await worker.keys() == ["new"])
    }

    private static func catalog(keys: String) -> [UInt8] {
        Array(#"{"products":{"pro":{"type":"auto-renewable","entitlements":\#(keys)}}}"#.utf8)
    }
}

extension EntitleWorker {
    fileprivate func keys() async throws -> Set<String> {
        Set(try await client.query("SELECT DISTINCT entitlement_key FROM entitlements").map { $0.text(0) })
    }
}
