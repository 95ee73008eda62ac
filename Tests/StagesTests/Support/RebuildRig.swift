import EntitleStage
import Entitlements
import Kafka
import LinkStage
import Operations
import Postgres
import Records
import TestSupport
import Testing
import Worker

/// The last two stages on one database, with `pipeline plan --facts` and `pipeline rebuild` beside them.
struct RebuildRig {
    let client: PostgresClient
    let link: LinkWorker
    let entitle: EntitleWorker
    let options: PostgresOptions

    init(_ rules: OwnershipRules = OwnershipRules()) async throws {
        options = try await StageDatabase.options()
        client = PostgresClient(options, connectionsMax: 8)
        link = try await LinkWorker(rules, on: client)
        entitle = try await EntitleWorker(on: client)
        // As the worker's loop does first: it stores its rules.
        try await link.stage.outboxes[0].waitForWork()
        try await link.linkTokens()
    }

    /// Settles samples in both stages, each as a batch of its own.
    func settle(_ samples: [Sample]) async throws { for sample in samples { try await settle(batch: [sample]) } }

    func settle(batch: [Sample]) async throws {
        try await link.settle(batch)
        _ = try await entitle.stage.process(try batch.records(from: 0))
    }

    /// Settles observations in both stages as one batch.
    func settle(observations: [Observation]) async throws {
        let records = observations.enumerated().map { $1.record(at: Int64($0)) }
        let verdicts = try await link.stage.process(records)
        try await link.stage.acknowledged(records, verdicts)
        let outputs = verdicts.flatMap(\.outputs).enumerated().map { index, output in
            ConsumerRecord(output, at: Int64(index))
        }
        _ = try await entitle.stage.process(outputs)
    }

    func run(_ arguments: [String]) async -> (code: Int32, output: String, notes: String) {
        await PipelineTool.run(arguments, on: options.connectionString)
    }

    func rebuild(_ options: String...) async -> (code: Int32, output: String) {
        let end = await run(PipelineTool.comparing(options))
        return (end.code, end.output + end.notes)
    }

    func query(_ sql: String) async throws { _ = try await client.query(sql) }

    /// Everything that a rebuild compares, one line for each row.
    func picture() async throws -> [String] {
        let tables = [
            "transactions", "renewals", "renewal_spans", "app_downloads", "ownership_facts", "ownership_renewals",
            "owners", "entitlements", "ledger", "revisions",
        ]
        let rows = tables.map { "SELECT '\($0) ' || row_to_json(t)::text FROM \($0) AS t" }.joined(
            separator: " UNION ALL ")
        return try await client.query(
            // In ASCII, because two texts that Swift treats as equal are two here.
            """
            SELECT encode(convert_to(line, 'UTF8'), 'escape')
            FROM (\(rows)) AS known (line) ORDER BY 1
            """
        ).map { $0.text(0) }
    }

    /// Damages rows, and expects a rebuild to name the fault, and to repair it only if it is told
    /// to.
    func expectMended(_ damage: String, saying phrases: String..., location: SourceLocation = #_sourceLocation)
        async throws
    {
        let before = try await picture()
        try await query(damage)
        let damaged = try await picture()
        #expect(damaged != before, "nothing was damaged", sourceLocation: location)
        for option in [[], ["--json"], ["--replace"]] {
            let end = await run(PipelineTool.comparing(option))
            #expect(end.code == 1, "\(end.output)\(end.notes)", sourceLocation: location)
            for phrase in phrases where option != ["--json"] {
                #expect(end.output.contains(phrase), "\(end.output)", sourceLocation: location)
            }
            let text = end.output + end.notes
            for secret in Self.secrets { #expect(!text.contains(secret), "\(text)", sourceLocation: location) }
            guard option != ["--replace"] else { continue }
            #expect(try await picture() == damaged, sourceLocation: location)
        }
        let after = try await picture()
        #expect(after == before, sourceLocation: location)
        let (code, output) = await rebuild()
        #expect(code == 0, "\(output)", sourceLocation: location)
    }

    /// Damages something that a rebuild cannot repair, and expects it to say what to do each time.
    func expectUnmended(_ damage: String, saying phrases: String..., location: SourceLocation = #_sourceLocation)
        async throws
    {
        try await query(damage)
        let damaged = try await picture()
        for option in [[], ["--replace"], ["--replace"]] {
            let end = await run(PipelineTool.comparing(option))
            #expect(end.code == 1, "\(end.output)\(end.notes)", sourceLocation: location)
            for phrase in phrases { #expect(end.output.contains(phrase), "\(end.output)", sourceLocation: location) }
            for secret in Self.secrets {
                #expect(!end.output.contains(secret), "\(end.output)", sourceLocation: location)
            }
        }
        #expect(try await picture() == damaged, sourceLocation: location)
    }

    /// Tokens, an account, and contents of payloads.
    private static let secrets = [
        LinkWorker.anna, LinkWorker.bob, account, "storefront", "recentSubscriptionStartDate",
    ]
    /// The `appTransactionId` of purchases.
    static let account = "704000000000000001"
}
