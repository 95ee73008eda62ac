import AppStore
import Foundation
import JSON
import Kafka
import Simulation
import Operations
import Postgres
import Synchronization
import Testing
import TestSupport
import Worker

extension PipelineTests {
    /// The example in `deploy/examples`, before all four workers.
    @Suite(.timeLimit(.minutes(10))) struct IngestionServiceTests {
        @Test(.needsBuiltWorkers, .enabled(if: Self.hasClient, "install python3-confluent-kafka"))
        func `an app learns the outcome of its purchase, or that it is not known yet`() async throws {
            let traffic = try DemoTraffic(seed: 7, bodyCount: 200)
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                let service = try await IngestionService(pipeline, secondsMax: 3)
                let bought = try #require(traffic.items.first { $0.expectedRefusal == nil })
                // No worker runs yet: nothing is lost, and the app is asked to retry.
                #expect(try service.post(bought.value ?? []).status == 202)
                try pipeline.startAll()
                try await pipeline.waitUntilReady()
                try await eventually(every: .milliseconds(500)) { try service.post(bought.value ?? []).status == 200 }
                let answer = try service.post(bought.value ?? [])
                let outcome = try #require(answer.outcomes.first)
                #expect(outcome["status"]?.string == "duplicate")
                let bad = try #require(traffic.items.first { $0.expectedRefusal == .signatureInvalid })
                let refusal = try service.post(bad.value ?? [])
                #expect(refusal.status == 422)
                #expect(refusal.outcomes.first?["reason"]?.string == "signature_invalid")
                try await service.stop()
            }
        }

        @Test(.needsBuiltWorkers, .enabled(if: Self.hasClient, "install python3-confluent-kafka"))
        func `the answer to a copy of another's purchase names neither owner nor holdings`() async throws {
            let traffic = try DemoTraffic(seed: 7, bodyCount: 200)
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                try pipeline.startAll()
                try await pipeline.waitUntilReady()
                let service = try await IngestionService(pipeline, secondsMax: 60)
                let copied = try Self.firstOfAnother(traffic, service)
                let text = copied.answer.text
                let original = try #require(copied.answer.outcomes.first?["originalTransactionID"]?.string)
                let owner = try await Self.owner(of: original, pipeline)
                #expect(copied.answer.status == 200)
                #expect(!text.contains(owner) && !text.contains(#""periods""#), "\(text)")

                let own = try service.post(copied.body, as: owner)
                #expect(own.outcomes.allSatisfy { $0["userID"]?.string == owner })
                let lists = own.outcomes.map { $0["entitlements"]?.kind == .array }
                #expect(lists == lists.indices.map { $0 == lists.count - 1 })
                #expect(try service.post(copied.body, as: nil).status == 401)
                try await service.stop()
            }
        }

        /// Posts purchases as a stranger until one is said to belong to another.
        private static func firstOfAnother(_ traffic: DemoTraffic, _ service: IngestionService) throws -> (
            body: [UInt8], answer: IngestionService.Answer
        ) {
            for item in traffic.items where item.kind == .purchase {
                let answer = try service.post(item.value ?? [], as: "stranger")
                if answer.outcomes.contains(where: { $0["belongsToAnother"]?.bool == true }) {
                    return (item.value ?? [], answer)
                }
            }
            throw PipelineFailure("no purchase belongs to another")
        }

        private static func owner(of original: String, _ pipeline: RunningPipeline) async throws -> String {
            let client = PostgresClient(pipeline.database, connectionsMax: 1)
            let rows = try await client.query(
                "SELECT user_id FROM owners WHERE original_transaction_id = $1", [.text(original)])
            return try #require(rows.first?.optionalText(0))
        }

        private static var hasClient: Bool {
            FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/confluent_kafka")
        }
    }
}

/// The example as a process.
private struct IngestionService {
    private let process: ChildProcess
    private let port: UInt16

    init(_ pipeline: RunningPipeline, secondsMax: Int) async throws {
        let script = URL(filePath: #filePath).appending(path: "../../../../deploy/examples/ingestion_service.py")
            .standardizedFileURL
        let announced = Mutex<UInt16?>(nil)
        process = try ChildProcess(
            executable: "/usr/bin/python3",
            arguments: [script.path, "--port", "0", "--prefix", pipeline.layout.prefix, "--wait", String(secondsMax)],
            environment: ["KAFKA_BOOTSTRAP": pipeline.cluster.bootstrapServers],
            standardOutput: .lines { line in
                announced.withLock { $0 = line.split(separator: " ").last.flatMap { UInt16($0) } }
            })
        await eventually { announced.withLock { $0 } != nil }
        port = try #require(announced.withLock { $0 })
    }

    struct Answer {
        let status: Int
        let text: String
        let outcomes: [JSONValue]
    }

    func post(_ body: [UInt8], as user: String? = "user-1") throws -> Answer {
        let text = String(decoding: body, as: UTF8.self)
        let session = user.map { "X-Session-User: \($0)\r\n" } ?? ""
        let answer = try RawClient.exchange(
            "POST /purchases HTTP/1.0\r\n\(session)Content-Length: \(body.count)\r\n\r\n\(text)", port: port)
        let status = answer.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        let json = answer.range(of: "\r\n\r\n").map { answer[$0.upperBound...] } ?? ""
        let root = try JSONDocument(parsing: Array(json.utf8)).root
        return Answer(status: status, text: String(json), outcomes: root["outcomes"]?.elements.map(\.self) ?? [])
    }

    func stop() async throws {
        process.kill()
        _ = try await process.waitForEnd(deadline: .hopeless)
    }
}
