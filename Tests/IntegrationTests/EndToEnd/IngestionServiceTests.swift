import Foundation
import JSON
import Kafka
import KitWrappers
import Operations
import Postgres
import Simulation
import Synchronization
import TestSupport
import Testing

extension PipelineTests {
    /// The receivers of `deploy/examples`, before all four workers.
    @Suite(
        .timeLimit(.minutes(10)),
        .enabled(
            if: IngestionService.areToolsThere,
            "install python3-confluent-kafka, python3-psycopg2, kcat and node-pg (deploy/install.sh test)"))
    struct IngestionServiceTests {
        /// A user whose name is no ASCII.
        private static let anna = "ann\u{e4}"
        private static let token = UUID().uuidString.lowercased()

        @Test(.needsBuiltWorkers, arguments: IngestionService.Language.allCases)
        func `a purchase settles when it has a user, and ends with a refund that Apple posts`(
            language: IngestionService.Language
        ) async throws {
            let sale = try ExampleSale(bodiesOf: .refund, token: Self.token)
            let early = try ExampleSale(bodiesOf: .purchase, token: UUID().uuidString, signers: sale.signers)
            try await RunningPipeline.run(PipelineSetup(.mock), sale.traffic) { pipeline in
                // No worker runs yet: nothing is lost, and the app is asked to retry.
                let hasty = try await IngestionService(language, pipeline, secondsMax: 1)
                #expect(try hasty.post(early.bodies[0], as: Self.anna) == .pending)
                try await hasty.stop()

                try pipeline.startAll()
                try await pipeline.waitUntilReady()
                let service = try await IngestionService(language, pipeline, secondsMax: 60)
                // Without a link both the first outcome and the one of a duplicate settle nothing.
                for _ in 1...2 { #expect(try service.post(sale.bodies[0], as: Self.anna) == .pending) }
                try await pipeline.execute(
                    """
                    INSERT INTO account_links (kind, key, user_id)
                    VALUES ('account_token', '\(Self.token)', '\(Self.anna)')
                    """)
                try await eventually(every: .milliseconds(500)) {
                    try service.post(sale.bodies[0], as: Self.anna).status == 200
                }
                let own = try service.post(sale.bodies[0], as: Self.anna)
                #expect(own.keys == ["pro"] && own["status"]?.string == "settled")
                #expect(own["belongsToAnother"]?.bool == false)
                #expect(own.ends[0] > sale.now)
                #expect(try service.get(as: Self.anna).keys == ["pro"])

                let copied = try service.post(sale.bodies[0], as: "ben")
                #expect(copied.status == 200 && copied["belongsToAnother"]?.bool == true)
                #expect(copied.keys == [] && !copied.text.contains("ann") && !copied.text.contains("pro"))
                #expect(try service.get(as: "ben").keys == [])

                #expect(try service.apple(sale.bodies[1]).status == 200)
                try await eventually(every: .milliseconds(500)) { try service.get(as: Self.anna).keys == [] }
                try await service.stop()
            }
        }

        @Test(.needsBuiltWorkers, arguments: IngestionService.Language.allCases)
        func `an expired purchase is settled without entitlements, and a forged one refused`(
            language: IngestionService.Language
        ) async throws {
            let past = try ExampleSale(bodiesOf: .purchase, token: Self.token, daysAgo: 90, user: Self.anna)
            let forged = try ExampleSale(bodiesOf: .forged, token: Self.token, signers: past.signers)
            try await RunningPipeline.run(PipelineSetup(.mock), past.traffic) { pipeline in
                try pipeline.startAll()
                try await pipeline.waitUntilReady()
                let service = try await IngestionService(language, pipeline, secondsMax: 60)
                let settled = try service.post(past.bodies[0], as: Self.anna)
                #expect(settled.status == 200 && settled.keys == [] && settled["belongsToAnother"]?.bool == false)
                let refused = try service.post(forged.bodies[0], as: Self.anna)
                #expect(refused.status == 422 && refused["reason"]?.string == "signature_invalid")
                try await service.stop()
            }
        }

        @Test(arguments: IngestionService.Language.allCases)
        func `a broker that is down makes Apple post again, and the app ask again`(language: IngestionService.Language)
            async throws
        {
            let sale = try ExampleSale(bodiesOf: .notification, token: Self.token)
            try await RunningPipeline.run(PipelineSetup(.mock), sale.traffic) { pipeline in
                let service = try await IngestionService(language, pipeline, secondsMax: 1)
                let mock = try #require(pipeline.cluster.mock)
                try mock.takeDown()
                #expect(try service.apple(sale.bodies[0]).status == 503)
                #expect(try service.post(sale.bodies[0], as: Self.anna).status == 503)
                try mock.bringUp()
                try await eventually(every: .milliseconds(500)) { try service.apple(sale.bodies[0]).status == 200 }
                #expect(try await pipeline.records(of: "raw").contains { $0.value == sale.bodies[0] })
                try await service.stop()
            }
        }

        @Test(arguments: IngestionService.Language.allCases)
        func `requests for no route are refused before they are read`(language: IngestionService.Language) async throws
        {
            let sale = try ExampleSale(bodiesOf: .purchase, token: Self.token)
            try await RunningPipeline.run(PipelineSetup(.mock), sale.traffic) { pipeline in
                let service = try await IngestionService(language, pipeline, secondsMax: 1)
                let json = "Content-Type: application/json; charset=utf-8\r\n"
                let some = "Content-Length: 2\r\n\r\n{}"
                let rows: [(request: String, fields: String, status: Int)] = [
                    ("GET /apple", "\r\n", 405), ("PUT /apple", json + some, 405),
                    ("POST /entitlements", json + some, 405), ("GET /transactions", "\r\n", 405),
                    ("POST /", json + some, 404), ("GET /apple/x", "\r\n", 404), ("POST /apple", some, 415),
                    ("POST /apple", "Content-Type: text/plain\r\n" + some, 415),
                    ("POST /transactions", "X-Session-User: ben\r\nContent-Type: text/plain\r\n" + some, 415),
                    ("POST /apple", json + "Content-Length: 1048577\r\n\r\n", 413),
                    ("POST /apple", json + "Content-Length: 9999999999\r\n\r\n", 413),
                    ("POST /apple", json + "Content-Length: 0\r\n\r\n", 413), ("POST /apple", json + "\r\n", 411),
                    ("POST /transactions", json + some, 401), ("GET /entitlements", "\r\n", 401),
                ]
                for (request, fields, status) in rows {
                    let answer = try service.exchange("\(request) HTTP/1.0\r\n\(fields)")
                    #expect(answer.status == status, "\(request) \(fields.prefix(60))")
                }
                #expect(try service.apple(Array(repeating: 0x20, count: 1 << 20)).status == 200)
                #expect(try await pipeline.records(of: "raw").count == 1)
                try await service.stop()
            }
        }
    }
}

/// A customer's bodies, with the pipeline that they are for.
private struct ExampleSale {
    let bodies: [[UInt8]]
    let traffic: DemoTraffic
    let signers: DemoSigners
    let now = Int64(Date().timeIntervalSince1970 * 1_000)

    /// - Parameter user: the user of the token, by a link before the workers start.
    init(bodiesOf kind: SampleKind, token: String, daysAgo: Int64 = 0, user: String? = nil, signers: DemoSigners? = nil)
        throws
    {
        self.signers =
            try signers
            ?? DemoSigners(jws: CertificateAuthority(), receipts: CertificateAuthority(.receipts(name: "Receivers")))
        let sample = SampleTraffic(kind, of: nil, in: .pro)
        bodies = try sample.bodies(of: [token], now: now - daysAgo * 86_400_000, signers: self.signers).bodies
        traffic = DemoTraffic(
            authority: self.signers.jws, receiptAuthority: self.signers.receipts,
            catalog: String(decoding: sample.catalog, as: UTF8.self), items: [],
            links: user.map { [DemoLink(kind: .accountToken, app: .pro, value: token, userID: $0)] } ?? [])
    }
}

/// A receiver as a process.
struct IngestionService {
    static let areToolsThere =
        NodePackages.hasPG
        && [
            "/usr/lib/python3/dist-packages/confluent_kafka", "/usr/lib/python3/dist-packages/psycopg2",
            "/usr/bin/kcat",
        ].allSatisfy { FileManager.default.fileExists(atPath: $0) }

    enum Language: String, CaseIterable, CustomTestStringConvertible {
        case python, node

        var testDescription: String { rawValue }

        var command: [String] {
            let examples = ReferenceScript.root.appending(path: "deploy/examples").path
            return switch self {
            case .python: ["/usr/bin/python3", "-B", "\(examples)/ingestion_service.py"]
            case .node: ["/usr/bin/node", "\(examples)/ingestion_service.js"]
            }
        }
    }

    struct Answer: Equatable {
        let status: Int
        let text: String

        static let pending = Answer(status: 202, text: #"{"status":"pending"}"#)

        subscript(member: StaticString) -> JSONValue? { (try? JSONDocument(parsing: Array(text.utf8)))?.root[member] }

        var ends: [Int64] { self["entitlements"]?.elements.map { $0["activeUntil"]?.int64 ?? .max } ?? [] }

        var keys: [String]? { self["entitlements"]?.elements.map { $0["key"]?.string ?? "" } }
    }

    private let process: ChildProcess
    private let port: UInt16
    private let topics: String

    init(_ language: Language, _ pipeline: RunningPipeline, secondsMax: Int) async throws {
        topics = pipeline.layout.prefix
        let announced = Mutex<UInt16?>(nil)
        let command = language.command
        process = try ChildProcess(
            executable: command[0],
            arguments: command.dropFirst() + ["--port", "0", "--prefix", topics] + ["--wait", String(secondsMax)],
            environment: [
                "PATH": "/usr/bin:/bin", "KAFKA_BOOTSTRAP": pipeline.cluster.bootstrapServers,
                "DATABASE_URL": pipeline.database.connectionString, "NODE_PATH": NodePackages.path,
            ],
            standardOutput: .lines { line in
                announced.withLock { $0 = line.split(separator: " ").last.flatMap { UInt16($0) } }
            })
        await eventually { announced.withLock { $0 } != nil }
        port = try #require(announced.withLock { $0 })
    }

    func exchange(_ request: String) throws -> Answer {
        let answer = try RawClient.exchange(request, port: port)
        let status = answer.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        let text = answer.range(of: "\r\n\r\n").map { String(answer[$0.upperBound...]) } ?? ""
        return Answer(status: status, text: text.replacing(": ", with: ":").replacing(", ", with: ","))
    }

    private func post(_ path: String, _ body: [UInt8], _ fields: String) throws -> Answer {
        try exchange(
            "POST \(path) HTTP/1.0\r\nContent-Type: application/json\r\n\(fields)Content-Length: \(body.count)\r\n\r\n"
                + String(decoding: body, as: UTF8.self))
    }

    func apple(_ body: [UInt8]) throws -> Answer { try post("/apple", body, "") }

    func post(_ body: [UInt8], as user: String) throws -> Answer {
        try post("/transactions", body, "X-Session-User: \(user)\r\n")
    }

    func get(as user: String) throws -> Answer {
        try exchange("GET /entitlements HTTP/1.0\r\nX-Session-User: \(user)\r\n\r\n")
    }

    /// Kills the service, which leaves no process behind.
    func stop() async throws {
        process.kill()
        _ = try await process.waitForEnd(deadline: .hopeless)
        try await eventually(every: .milliseconds(100)) {
            try ProgramRun("/usr/bin/pgrep", ["--full", "kcat .*\(topics)"]).status == 1
        }
    }
}
