import AppStore
import EntitleStage
import Entitlements
import JSON
import Postgres
import Records
import Simulation
import TestSupport
import Testing

/// Identifiers that Unicode treats as canonically equivalent differ: PostgreSQL, Kafka and Apple
/// compare bytes.
@Suite(.timeLimit(.minutes(10))) struct CanonicalEquivalenceTests {
    private static let composed = "\u{e9}"
    private static let decomposed = "e\u{301}"

    @Test func `the state of a user lists that user's purchases alone`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([
            Signed.key("1"): Ownership(userID: "\u{e9}", rule: .accountToken),
            Signed.key("2"): Ownership(userID: "e\u{301}", rule: .accountToken),
        ])
        _ = try await worker.process([try Signed.transaction("1", signed: 1), try Signed.transaction("2", signed: 1)])
        let states = try await worker.published().states.map { state in
            let held = state.value["entitlements"]?.elements.compactMap { $0["originalTransactionID"]?.string }
            return "\(Array("\(state.userID)".utf8)) \(held ?? [])"
        }
        #expect(states.sorted() == ["[101, 204, 129] [\"2\"]", "[195, 169] [\"1\"]"])
    }

    @Test func `a purchase that moves between the two is recorded for both`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Ownership(userID: "\u{e9}", rule: .accountToken)])
        _ = try await worker.process([try Signed.transaction("1", signed: 1)])
        try await worker.own([Signed.key("1"): Ownership(userID: "e\u{301}", rule: .accountToken)])
        _ = try await worker.process([Observation.relinking(Signed.key("1"))])
        let changes = try await worker.client.query(
            """
            SELECT convert_to(user_id, 'UTF8')::text || ' ' || version || ' '
                || isempty(new_periods)
            FROM changes ORDER BY 1
            """)
        #expect(changes.map { $0.text(0) } == ["\\x65cc81 1 false", "\\xc3a9 1 false", "\\xc3a9 2 true"])
    }

    @Test func `a link that is corrected from one to the other reaches both`() async throws {
        let rig = try await RebuildRig()
        try await rig.link.link("original_transaction_id", "1", Self.composed)
        try await rig.settle([.purchase("1", until: 9_000)])
        #expect(try await owners(rig) == ["1 \\xc3a9"])
        _ = try await rig.client.query(
            "UPDATE account_links SET user_id = $1 WHERE key = '1'", [.text(Self.decomposed)])
        #expect(try await rig.link.emptyOutbox().count == 1)
        #expect(try await owners(rig) == ["1 \\x65cc81"])
    }

    @Test func `a rebuild finds a row of the other user`() async throws {
        let rig = try await RebuildRig()
        try await rig.link.link("original_transaction_id", "1", Self.composed)
        try await rig.settle([.purchase("1", until: 9_000)])
        for table in ["owners", "entitlements"] {
            try await rig.expectMended(
                "UPDATE \(table) SET user_id = 'e' || chr(769) WHERE user_id = chr(233)", saying: "1 ")
        }
    }

    @Test func `products, transactions and keys that differ in bytes are several`() async throws {
        let rig = try await RebuildRig()
        try await rig.entitle.apply(
            catalog: Array(
                """
                {"products": {
                    "\u{e9}": {"type": "non-consumable", "entitlements": ["key \u{e9}"]},
                    "e\u{301}": {"type": "non-consumable", "entitlements": ["key e\u{301}"]}
                }}
                """.utf8))
        let samples = [Self.composed, Self.decomposed].map { id in
            Sample.purchase("original", "transaction \(id)", at: 1_000).with { sample in
                sample.transaction?.productID = id
                sample.transaction?.type = "Non-Consumable"
            }
        }
        try await rig.link.link("original_transaction_id", "original", "anna")
        try await rig.settle(batch: samples)
        #expect(try await rig.entitle.count("transactions") == 2)
        #expect(try await rig.entitle.count("entitlements") == 2)
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
    }

    @Test func `originals that differ in bytes are two purchases`() async throws {
        let rig = try await RebuildRig()
        try await rig.link.link("original_transaction_id", Self.composed, "anna")
        try await rig.link.link("original_transaction_id", Self.decomposed, "bob")
        try await rig.settle(batch: [
            .purchase(Self.composed, "1", until: 9_000), .purchase(Self.decomposed, "2", until: 9_000),
        ])
        #expect(
            try await owners(rig).map { Array($0.utf8) } == [
                Array("\(Self.decomposed) \\x626f62".utf8), Array("\(Self.composed) \\x616e6e61".utf8),
            ])
        #expect(try await rig.entitle.count("entitlements") == 2)
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
    }

    private func owners(_ rig: RebuildRig) async throws -> [String] {
        try await rig.client.query(
            """
            SELECT original_transaction_id || ' ' || convert_to(user_id, 'UTF8')::text
            FROM owners ORDER BY original_transaction_id COLLATE "C"
            """
        ).map { $0.text(0) }
    }
}
