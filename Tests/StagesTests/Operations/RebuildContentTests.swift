import AppStore
import Entitlements
import Foundation
import Postgres
import Simulation
import TestSupport
import Testing

@testable import Operations

/// The output of `pipeline rebuild` for missing or unreadable contents, and the size of its reads.
@Suite(.timeLimit(.minutes(10))) struct RebuildContentTests {
    private static func rig() async throws -> RebuildRig {
        let rig = try await RebuildRig()
        try await rig.settle([
            .purchase("1", token: LinkWorker.anna, until: 9_000),
            receipt("2", signed: 2, revoked: 5_000, storefront: "A"), receipt("2", signed: 4, storefront: "B"),
            .renewal("1", content: "A") { $0.gracePeriodExpiresDate = 12_000 },
            .purchase("3", token: LinkWorker.bob, until: 9_000),
        ])
        return rig
    }

    private static func receipt(_ id: String, signed: Int64, revoked: Int64? = nil, storefront: String) -> Sample {
        Sample.purchase(id, signed: signed, until: 9_000).with {
            $0.method = .receipt
            $0.transaction?.revocationDate = revoked
            $0.transaction?.storefront = storefront
        }
    }

    @Test func `a missing content is named, and its fact stays`() async throws {
        let rig = try await Self.rig()
        try await rig.expectUnmended(
            "DELETE FROM revisions WHERE kind = 'transaction' AND id = '1'",
            saying: "1 transactions 1 (jws): the content that content_hash names is not in", "history_archives",
            "1 cannot be replaced: the lines above say what to do")
        try await rig.expectUnmended(
            "DELETE FROM revisions WHERE payload ->> 'revocationDate' = '5000'",
            saying: "2 transactions 2 (receipt): the content that revoked_content_hash names")
    }

    @Test func `a grace stays if its renewal info is missing`() async throws {
        let rig = try await Self.rig()
        try await rig.expectUnmended(
            "DELETE FROM revisions WHERE kind = 'renewal'",
            saying: "1 renewals: the content that content_hash names is not in revisions",
            "no content that can be read grants the grace until 12000")
    }

    @Test(arguments: [
        "[1]", "5", "{}", "null", "{\"a\":\"\\u0000\"}", "{\"a\":\"\\ud800\"}",
        "{\"transactionId\":\"1\",\"transactionId\":\"2\"}",
        "{\"transactionId\":\"1\",\"originalTransactionId\":\"1\",\"productId\":\"p\","
            + "\"purchaseDate\":1,\"signedDate\":1}",
    ]) func `an edited payload is a finding, and the others are compared`(_ payload: String) async throws {
        let rig = try await Self.rig()
        try await rig.query("UPDATE transactions SET quantity = 7 WHERE transaction_id = '3'")
        try await rig.query("UPDATE revisions SET payload = '\(payload)' WHERE id = '1' AND kind = 'transaction'")
        let (code, output) = await rig.rebuild("--replace")
        #expect(code == 1)
        #expect(output.contains("transactions 1 (jws): a content in revisions is not what"))
        #expect(output.contains("transactions 3 (jws): differs from what was signed in quantity"))
        #expect(output.contains("2 differences, 1 of them replaced; 1 cannot be replaced"), "\(output)")
        let quantities = try await rig.client.query("SELECT DISTINCT coalesce(quantity, 0)::int8 FROM transactions")
        #expect(quantities.map { $0.int8(0) } == [1])
    }

    @Test func `a payload with an extended end has no effect`() async throws {
        let rig = try await Self.rig()
        try await rig.expectUnmended(
            """
            UPDATE revisions SET payload = replace(payload::text, '9000', '9999999')::json
            WHERE id = '1' AND kind = 'transaction'
            """, saying: "a content in revisions is not what its hash was made of")
    }

    @Test func `an edited renewal info removes no grace`() async throws {
        let rig = try await Self.rig()
        try await rig.expectUnmended(
            """
            UPDATE revisions SET payload = '{}' WHERE kind = 'renewal'
            """, saying: "1 renewals: a content in revisions is not what its hash was made of",
            "no content that can be read grants the grace until 12000")
    }

    @Test func `a transaction without a known trust is named with its raw record`() async throws {
        let rig = try await Self.rig()
        try await rig.query("DELETE FROM entitlements WHERE original_transaction_id = '3'")
        try await rig.query("DELETE FROM owners WHERE original_transaction_id = '3'")
        try await rig.query("DELETE FROM ownership_facts WHERE transaction_id = '3'")
        try await rig.expectUnmended(
            "DELETE FROM transactions WHERE transaction_id = '3'",
            saying: "com.example.pro 3 transactions 3 (jws): has no row, and who vouched", "pipeline dedupe forget",
            "the raw record is storekit.raw/0/1")
    }

    @Test func `a lost transaction removes no access`() async throws {
        let rig = try await Self.rig()
        for table in ["transactions", "ownership_facts"] {
            try await rig.query("DELETE FROM \(table) WHERE transaction_id = '3'")
        }
        let damaged = try await rig.picture()
        try await rig.query("UPDATE transactions SET expires_date_ms = 1 WHERE transaction_id = '1'")
        let planned = await rig.rebuild().output
        #expect(planned.contains("; 2 cannot be replaced: "), "\(planned)")
        let (code, output) = await rig.rebuild("--replace")
        #expect(code == 1)
        #expect(output.contains("should be nothing; kept, as a transaction of the purchase has no row"), "\(output)")
        #expect(output.contains("3 differences, 1 of them replaced; 2 cannot be"), "\(output)")
        #expect(try await rig.picture() == damaged, "the other purchase is put right")
        let json = await rig.rebuild("--replace", "--json").output
        #expect(json.contains("\"expected\":\"\",\"is_kept\":true"), "\(json)")
    }

    @Test func `a lost transaction leaves its purchase with its owner`() async throws {
        let rig = try await Self.rig()
        try await rig.settle([
            Sample.purchase("3", "5", token: LinkWorker.anna, until: 12_000).with {
                $0.transaction?.purchaseDate = 8_000
            }
        ])
        for table in ["transactions", "ownership_facts"] {
            try await rig.query("DELETE FROM \(table) WHERE transaction_id = '5'")
        }
        let damaged = try await rig.picture()
        let (code, output) = await rig.rebuild("--replace")
        #expect(code == 1)
        #expect(output.contains(" 3 owner: is "), "\(output)")
        #expect(output.contains("; kept, as a transaction of the purchase has no row"))
        #expect(try await rig.picture() == damaged)
        let marks = try await rig.client.query("SELECT 1 FROM owner_changes")
        #expect(marks.count == 0, "nothing makes a worker project it")
    }

    @Test func `an edited payload without a row is named, and stops nothing`() async throws {
        let rig = try await Self.rig()
        for table in ["transactions", "ownership_facts"] {
            try await rig.query("DELETE FROM \(table) WHERE transaction_id = '2'")
        }
        try await rig.query("UPDATE revisions SET payload = '{\"a\":\"\\u0000\"}' WHERE id = '2'")
        let (code, output) = await rig.rebuild()
        #expect(code == 1)
        #expect(output.contains("Production com.example.pro transactions 2 (receipt): has no row"))
        #expect(output.contains("3 purchases compared"), "\(output)")
        try await rig.query(
            """
            UPDATE revisions SET payload = '{"gracePeriodExpiresDate":"\\udc00"}'
            WHERE kind = 'renewal'
            """)
        let edited = await rig.rebuild().output
        #expect(edited.contains("no content that can be read grants the grace"), "\(edited)")
    }

    @Test func `a renewal info without a purchase is named with its raw record`() async throws {
        let rig = try await RebuildRig()
        try await rig.settle([.renewal("7")])
        #expect(await rig.rebuild().code == 0)
        try await rig.query("DELETE FROM ownership_renewals")
        try await rig.expectUnmended(
            "DELETE FROM renewals", saying: "Production 7 renewals: has no row", "the raw record is storekit.raw/0/1")
    }

    @Test func `after an archive nothing is found, and nothing is missing`() async throws {
        let rig = try await Self.rig()
        try await rig.settle([
            Self.receipt("2", signed: 5, storefront: "C"),
            .purchase("3", signed: 2, token: LinkWorker.bob, until: 9_500), .renewal("1", content: "B", signed: 2),
            .renewal("1", content: "C", signed: 3),
        ])
        try await rig.query("UPDATE revisions SET recorded_at = now() - interval '500 days'")
        let before = try await rig.entitle.count("revisions")
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try HistoryRig.archive(rig.options.connectionString, to: folder.path).isSuccess)
        // A silent receipt, the first of the purchase, and the renewal info without a grace.
        #expect(try await rig.entitle.count("revisions") == before - 3)
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
        for damage in [
            "UPDATE transactions SET expires_date_ms = 1, revocation_date_ms = NULL", "DELETE FROM renewal_spans",
            "DELETE FROM transactions WHERE transaction_id = '2'",
        ] { try await rig.expectMended(damage) }
    }

    @Test func `a fact that a worker is about to write is read again`() async throws {
        let rig = try await Self.rig()
        let worker = try await rig.client.connect()
        try await worker.execute(script: "SET application_name = 'entitle-worker'")
        try await rig.query("UPDATE transactions SET quantity = 7 WHERE transaction_id = '3'")
        let client = rig.client
        let url = rig.options.connectionString
        async let rebuilt = PipelineTool.run(["plan", "--facts"], on: url)
        // Its first look has ended.
        try await eventually {
            try await client.query(
                """
                SELECT FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'pipeline'
                  AND state = 'idle' AND query LIKE '%are_connected%'
                """
            ).count == 1
        }
        try await rig.query("UPDATE transactions SET quantity = 1 WHERE transaction_id = '3'")
        let (code, output, _) = await rebuilt
        #expect(code == 0, "\(output)")
        await worker.close()
    }

    @Test func `a purchase of thousands of contents is compared some at a time`() async throws {
        let rig = try await RebuildRig()
        let count = 3_000
        var samples: [Sample] = []
        for number in 0..<count {
            let content = "\(number)"
            samples.append(
                .renewal("1", content: content, signed: Int64(number)) {
                    $0.gracePeriodExpiresDate = 10_000 + Int64(number)
                })
            samples.append(Self.receipt("1", signed: Int64(number), revoked: 500, storefront: content))
        }
        for start in stride(from: 0, to: samples.count, by: 500) {
            try await rig.settle(batch: Array(samples[start..<start + 500]))
        }
        #expect(try await rig.entitle.count("revisions") == Int64(2 * count))
        #expect(try await rig.entitle.count("renewal_spans") == Int64(count))
        let client = PostgresClient(rig.options, connectionsMax: 1)
        let rebuilding = try await Rebuilding(client: client, isReplacing: false)
        #expect(try await rebuilding.run { _, _ in }.differenceCount == 0)
        let readings = try await client.query(
            """
            SELECT generic_plans + custom_plans FROM pg_prepared_statements
            WHERE statement LIKE 'SELECT asked.index, known.payload%'
            """)
        #expect(readings.count == 1)
        // A hundred at a time.
        #expect(readings.first?.int8(0) ?? 0 >= Int64(2 * count / 100))
        try await rig.expectMended(
            "DELETE FROM renewal_spans WHERE end_ms = 11000", saying: "lacks the grace until 11000")
    }
}
