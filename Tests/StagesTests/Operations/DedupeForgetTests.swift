import AppStore
import Store
import Kafka
import Operations
import Postgres
import Records
import Synchronization
import TestSupport
import Testing
import Topology
import Worker

@testable import DedupeStage

/// `pipeline dedupe forget`: records lost behind dedupe-worker return when published again.
@Suite(.timeLimit(.minutes(10))) struct DedupeForgetTests {
    /// A dedupe worker, and the tool beside it.
    private final class Rig: Sendable {
        let client: PostgresClient
        let url: String
        let stage: DedupeStage
        let printed = Mutex("")
        private let offset = Mutex<Int64>(0)

        init() async throws {
            let options = try await PostgresServer.shared.migratedDatabase()
            url = options.connectionString
            client = PostgresClient(options, connectionsMax: 4)
            stage = DedupeStageTests.Reader.stage(on: client)
        }

        /// Reads the observations, and remembers the forwarded ones.
        func settle(_ observations: [Observation]) async throws -> [Disposition] {
            let first = offset.withLock { offset in
                defer { offset += Int64(observations.count) }
                return offset
            }
            let records = observations.enumerated().map { $1.record(at: first + Int64($0)) }
            let verdicts = try await stage.process(records)
            try await stage.acknowledged(records, verdicts)
            return verdicts.map(\.disposition)
        }

        func forget(_ arguments: String...) async -> Int32 {
            let end = await PipelineTool.run(["dedupe", "forget"] + arguments, on: url)
            printed.withLock { $0 = end.output }
            return end.code
        }

        var text: String { printed.withLock { $0 } }

        /// Sets the time at which a revision was marked.
        func mark(_ id: String, at date: String) async throws {
            _ = try await client.query(
                "UPDATE dedupe_revisions SET marked_at = $2::text::timestamptz WHERE id = $1", [.text(id), .text(date)])
        }
    }

    private static func bought(_ ids: [String]) throws -> [Observation] {
        try ids.map { try Signed.transaction($0, signed: 1) }
    }

    @Test func `a forgotten record is forwarded when it is published again`() async throws {
        let rig = try await Rig()
        let bodies = try Self.bought((1...2_000).map { String($0) })
        #expect(try await rig.settle(bodies).allSatisfy { $0 == .forwarded })
        #expect(try await rig.settle(bodies).allSatisfy { $0 == .duplicate })

        #expect(await rig.forget("--all") == 1)
        #expect(rig.text.hasPrefix("2,000 revisions and 0 notifications would be forgotten"))
        #expect(try await rig.settle(bodies).allSatisfy { $0 == .duplicate })

        #expect(await rig.forget("--all", "--yes") == 0)
        #expect(rig.text.contains("2,000 revisions and 0 notifications forgotten"))
        #expect(try await rig.settle(bodies).allSatisfy { $0 == .forwarded })
    }

    @Test func `only marks within the time are forgotten`() async throws {
        let rig = try await Rig()
        let bodies = try Self.bought(["1", "2", "3"])
        _ = try await rig.settle(bodies)
        try await rig.mark("1", at: "2026-03-01T00:00:00Z")
        try await rig.mark("2", at: "2026-03-02T00:00:00Z")
        let code = await rig.forget("--since=2026-03-02", "--before=2026-03-03T00:00:00Z", "--yes", "--json")
        #expect(code == 0)
        #expect(rig.text == #"{"revisions":1,"notifications":0,"is_forgotten":true}"# + "\n")
        #expect(try await rig.settle(bodies) == [.duplicate, .forwarded, .duplicate])
    }

    @Test func `an app and an environment can be forgotten alone`() async throws {
        let rig = try await Rig()
        let own = try Signed.transaction("1", signed: 1)
        let other = try Signed.transaction("2", signed: 1).with { $0.bundleID = "com.example.other" }
        let sandbox = try Signed.transaction("3", signed: 1).with { $0.environment = .sandbox }
        let renewal = try Signed.renewal("1", signed: 1, graceExpires: nil)
        let notification = try Signed.notification("TEST", signed: 1)
        let bodies = [own, other, sandbox, renewal, notification]
        _ = try await rig.settle(bodies)
        #expect(await rig.forget("--environment=Sandbox", "--yes") == 0)
        #expect(try await rig.settle(bodies) == [.duplicate, .duplicate, .forwarded, .duplicate, .duplicate])
        let app = ["--bundle-id=com.example.other", "--environment=Production", "--yes"]
        #expect(await rig.forget(app[0], app[1], app[2]) == 0)
        // A renewal info and a notification name no app.
        #expect(try await rig.settle(bodies) == [.duplicate, .forwarded, .duplicate, .forwarded, .forwarded])
    }

    @Test func `a row that a worker is writing is waited for and not skipped`() async throws {
        let rig = try await Rig()
        let bodies = try Self.bought(["1", "2"])
        _ = try await rig.settle(bodies)
        let isForgetting = try await rig.client.transaction { connection in
            _ = try await connection.query("SELECT FROM dedupe_revisions WHERE id = '1' FOR UPDATE")
            let forgetting = Task { await rig.forget("--all", "--yes") }
            await eventually {
                let left = try? await rig.client.query("SELECT count(*) FROM dedupe_revisions")
                return left?[0].int8(0) == 1
            }
            return forgetting
        }
        #expect(await isForgetting.value == 0)
        #expect(try await rig.settle(bodies) == [.forwarded, .forwarded])
    }

    @Test(arguments: [[], ["--yes"], ["--all", "--since=2026-03-01"], ["--since=yesterday"]])
    func `the selection is required`(arguments: [String]) async throws {
        let rig = try await Rig()
        let code = await PipelineTool.run(["dedupe", "forget"] + arguments, on: rig.url).code
        #expect(code == 64)
    }
}
