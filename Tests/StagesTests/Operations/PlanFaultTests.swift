import AppStore
import Commands
import Entitlements
import Foundation
import Operations
import Postgres
import Simulation
import TestSupport
import Testing

/// `pipeline plan` with files that are no catalog, and with a server that goes away.
@Suite(.timeLimit(.minutes(10))) struct PlanFaultTests {
    @Test(arguments: [
        ("", "line 1, column 1: not JSON, expected"),
        (#"{"products":{"pro":{"type":"auto-ren"#, "line 1, column 37: not JSON, expected"),
        (#"{"products":{"pro":{"type":"auto-renewable","trial":"P7D"}}}"#, #"["pro"].trial: unknown here; expected"#),
        (#"{"products":{"pro":{"type":"auto-renewable"}},"version":2}"#, "version: unknown here; expected"),
        (#"{"products":{"pro":{"type":"seat"}}}"#, #"products["pro"].type: expected auto-renewable, "#),
        (#"{"products":{}}"#, "names no product; --allow-empty"),
    ]) func `a file that is no catalog of this version is named with its place, and stores no plan`(
        content: String, fault: String
    ) async throws {
        let rig = try await PlanRig()
        let path = try rig.file(Array(content.utf8))
        for command in [["plan", "--catalog"], ["catalog", "apply"]] {
            let end = await PipelineTool.run(command + [path], on: rig.url)
            #expect(end.code == 65 && end.notes.contains(fault) && end.notes.contains(path), "\(end)")
        }
        try await Self.expectNothing(on: rig)
    }

    @Test func `what cannot be read is named, and an endless file is read up to the limit`() async throws {
        let rig = try await PlanRig()
        for (path, code, fault) in [
            ("/nowhere/catalog.json", 66, "cannot read /nowhere/catalog.json"), ("/tmp", 66, "cannot read /tmp"),
            ("/dev/zero", 65, "/dev/zero: 1 problem\n  larger than 16 MiB"),
        ] as [(String, Int32, String)] {
            let end = await rig.run("plan", "--catalog", path)
            #expect(end.code == code && end.notes.contains(fault), "\(end)")
        }
        try await Self.expectNothing(on: rig)
    }

    @Test func `a catalog of the most products is planned, stored and applied`() async throws {
        let rig = try await PlanRig()
        let products = (0..<Catalog.productsMax).map { #""product.\#($0)":{"type":"non-consumable"}"# }
        let path = try rig.file(Array("{\"products\":{\(products.joined(separator: ","))}}".utf8))
        let planned = await rig.run("plan", "--catalog", path)
        #expect(planned.code == 0 && planned.output.contains("plan 1, sha256"), "\(planned)")
        #expect(planned.output.contains(" and 99,980 more"), "\(planned)")
        let applied = await rig.run("catalog", "apply", "--plan", "1")
        #expect(applied.code == 0 && applied.output.contains("100,000 products"), "\(applied)")
    }

    /// The ways in which a server goes away.
    enum Loss: CaseIterable {
        /// It ends the session, as it does when it stops.
        case ended
        /// The connection breaks.
        case cut
        /// It stands still, and leaves the connection open.
        case silent
    }

    @Test(arguments: Loss.allCases) func `a server that goes away in the middle ends a plan, which leaves nothing`(
        loss: Loss
    ) async throws {
        let rig = try await PlanRig()
        try await rig.worker.own([Signed.key("1"): Ownership(userID: "anna", rule: .accountToken)])
        _ = try await rig.worker.process([try Signed.transaction("1", signed: 1)])
        let path = try rig.file(Array(#"{"products":{"pro":{"type":"auto-renewable","entitlements":["prp"]}}}"#.utf8))
        let port = try #require(UInt16(rig.url.firstMatch(of: /:(\d+)\//)?.1 ?? ""))
        let proxy = try StallingProxy(to: port)
        defer { proxy.stop() }
        let transcript = ConsoleTranscript()
        let settings = [
            "DATABASE_URL": rig.url.replacing(":\(port)/", with: ":\(proxy.port)/"),
            "DATABASE_STATEMENT_DEADLINE": "3s", "DATABASE_CONNECT_DEADLINE": "3s",
        ]
        let relations = try await rig.worker.count("pg_class")
        let other = try await rig.worker.client.connect()
        _ = try await other.query("BEGIN")
        _ = try await other.query("LOCK TABLE transactions IN ACCESS EXCLUSIVE MODE")
        async let code = PipelineTool.tool.run(["plan", "--catalog", path], settings, on: transcript)
        let session = """
            FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pipeline'
            """
        try await eventually("the plan waits") {
            try await !rig.worker.client.query("SELECT \(session) AND wait_event_type = 'Lock'").isEmpty
        }
        switch loss {
        case .ended: _ = try await rig.worker.client.query("SELECT pg_terminate_backend(pid) \(session)")
        case .cut: proxy.stop()
        case .silent: proxy.stall()
        }
        let end = await code
        #expect(end == 69 && transcript.output.isEmpty, "\(end) \(transcript.notes)")
        #expect(transcript.notes.hasPrefix("pipeline plan: ") && transcript.notes.contains("PostgreSQL"))
        proxy.stop()
        _ = try await other.query("COMMIT")
        try await eventually("the session has ended") { try await other.query("SELECT \(session)").isEmpty }
        #expect(try await rig.worker.count("pg_class") == relations)
        await other.close()
        try await Self.expectNothing(on: rig)
        #expect(await rig.run("plan", "--catalog", path).output.contains("plan 1, sha256"))
    }

    @Test func `a server that is gone is named`() async throws {
        let rig = try await PlanRig()
        let closed = try LoopbackSocket(isListening: true)
        let port = closed.port
        closed.close()
        let transcript = ConsoleTranscript()
        let code = await PipelineTool.tool.run(
            ["plan", "--catalog", try rig.file(Array(#"{"products":{"pro":{"type":"non-consumable"}}}"#.utf8))],
            ["DATABASE_URL": "postgres://anna@127.0.0.1:\(port)/d", "DATABASE_CONNECT_DEADLINE": "1s"], on: transcript)
        #expect(code == 69 && transcript.notes.contains("127.0.0.1"), "\(transcript.notes)")
    }

    private static func expectNothing(on rig: PlanRig) async throws {
        #expect(try await rig.worker.count("plans") == 0)
        #expect(try await rig.worker.count("catalog_versions") == 0)
    }
}
