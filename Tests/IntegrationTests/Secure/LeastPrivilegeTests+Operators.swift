import Foundation
import Operations
import Postgres
import Records
import Simulation
import TestSupport
import Testing
import Topology

extension PipelineTests.LeastPrivilegeTests {
    private static let operating = "pipeline-operator"

    /// The actions of an operator, and those of the schema's owner and Kafka's admin.
    static func expectOperators(_ errands: Errands) async throws {
        let pipeline = errands.pipeline
        let prefix = pipeline.layout.prefix
        try await errands.expect(try ofTopics(errands) + ofUsers, of: "pipeline")
        for copy in pipeline.copies where copy.stage != .verify { try await pipeline.stop(copy) }
        let restarted = [StageDescription.dedupe, .link, .entitle]
        try await pipeline.resetOffsets(of: restarted, "--shift-by=-5")
        let statement = "account state --stage dedupe --by eva --reason restored"
        try await errands.expect(
            [
                .init("auditor", statement, exitCode: 69, says: ["nothing was committed", "pipeline grants"]),
                .init(operating, statement), .init(operating, statement, exitCode: 1),
                .init(operating, "recover feed --republish"),
                .init(operating, "grants --apply", exitCode: 78, says: ["permission denied", "schema's owner"]),
                .init(
                    "link-worker", "plan --facts", exitCode: 78, says: ["permission denied", "role pipeline-operator"]),
                .init(
                    "auditor", "publish \(errands.bodyPath)", exitCode: 69, says: ["\(prefix)raw", "pipeline grants"]),
            ], of: "pipeline")
        // Records before the reset offset are read again, and count once.
        for stage in restarted { try pipeline.start(stage) }
        try await pipeline.settle()
        try await errands.expect([.init(operating, "plan --facts")], of: "pipeline")
        try await expectRepair(errands)
    }

    /// Damages a row of each table that a rebuild writes, and lets the operator repair them.
    private static func expectRepair(_ errands: Errands) async throws {
        try await errands.pipeline.execute(
            """
            UPDATE transactions SET expires_date_ms = 1;
            UPDATE renewals SET renewal_date_ms = 1;
            UPDATE app_downloads SET application_version = '0';
            UPDATE ownership_facts SET expires_date_ms = 1;
            DELETE FROM ownership_renewals;
            DELETE FROM renewal_spans;
            INSERT INTO renewal_spans
            SELECT environment, original_transaction_id, trust, 1, NULL FROM renewals;
            """)
        try await errands.expect(
            [.init(operating, "rebuild --replace", exitCode: 1), .init(operating, "plan --facts")], of: "pipeline")
    }

    private static func ofTopics(_ errands: Errands) throws -> [Errands.Errand] {
        let pipeline = errands.pipeline
        let prefix = pipeline.layout.prefix
        let body = try #require(pipeline.traffic.items.first { $0.kind == .purchase }?.value)
        try Data(body).write(to: URL(filePath: errands.bodyPath))
        let partitions = pipeline.layout.partitions
        return [
            .init(operating, "topics --partitions \(partitions)"),
            .init(operating, "topics --partitions \(partitions) --retention 8d --alter"),
            .init(operating, "topics --partitions \(partitions + 2) --retention 8d --add-partitions"),
            .init(
                operating, "topics --prefix elsewhere.", exitCode: 69,
                says: ["AUTHORIZATION_FAILED", "pipeline grants"]),
            .init(operating, "publish --whole \(errands.bodyPath)", says: ["1 body"]),
            .init(
                operating, "publish --whole --topic \(prefix)verified \(errands.bodyPath)", exitCode: 69,
                says: ["AUTHORIZATION_FAILED", "pipeline grants"]),
        ]
    }

    private static let ofUsers: [Errands.Errand] = [
        .init(operating, "link add original_transaction_id 4711 ines --reason=why --by=otto"),
        .init(operating, "link list --user ines", says: ["4711"]),
        .init(operating, "link remove original_transaction_id 4711 --reason=why --by=otto"),
        .init(operating, "import --status", exitCode: 1, says: ["0 customers"]), .init(operating, "link reapply"),
        .init(operating, "grant ines pro --until=forever --reason=why --by=otto"),
        .init(operating, "explain ines", says: ["pro"]), .init(operating, "revoke-grant 1 --reason=why --by=otto"),
        .init(operating, "whats-stored ines"), .init(operating, "forget ines --reason=asked --by=otto"),
        .init(operating, "dedupe forget --all --yes"),
    ]
}

extension Errands {
    /// A file that holds one body.
    fileprivate var bodyPath: String { "\(pipeline.folder)/body.json" }
}
