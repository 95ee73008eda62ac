import Foundation
import HTTP
import JSON
import Telemetry
import TestSupport
import Testing
import Worker

@Suite struct HealthTests {
    private func health() -> Health { Health(conditions: [.assigned, .broker, .database], stallMax: .seconds(30)) }

    /// The answer of a route over a real connection.
    private func get(_ path: String, _ health: Health) async throws -> (Int, String) {
        let routes = HealthRoutes.routes(health: health, metrics: MetricsRegistry())
        let server = try HTTPServer(routes: routes)
        defer { server.stop() }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)\(path)"))
        return try curl(url)
    }

    private func curl(_ url: URL) throws -> (Int, String) {
        let options = ["--silent", "--max-time", "10", "--write-out", "\n%{http_code}"]
        let run = try ProgramRun("/usr/bin/curl", options + [url.absoluteString], takesErrors: false)
        var lines = run.text.split(separator: "\n", omittingEmptySubsequences: false)
        let status = Int(lines.removeLast()) ?? 0
        return (status, lines.joined(separator: "\n"))
    }

    @Test func `a worker is alive as long as its loop makes progress`() {
        let health = health()
        let start = ContinuousClock.now
        health.progressed(at: start)
        #expect(health.isAlive(at: start + .seconds(30)))
        #expect(!health.isAlive(at: start + .seconds(31)))
        health.progressed(at: start + .seconds(31))
        #expect(health.isAlive(at: start + .seconds(60)))
    }

    @Test func `a worker is ready when all its conditions hold`() {
        let health = health()
        #expect(!health.isReady)
        #expect(health.ready(.assigned))
        #expect(health.ready(.broker))
        #expect(!health.isReady)
        #expect(health.ready(.database))
        #expect(health.isReady)
        #expect(!health.ready(.database))
        #expect(health.notReady(.database, "connection refused"))
        #expect(!health.notReady(.database, "connection refused"))
        #expect(health.notReady(.database, "password refused"))
        #expect(!health.isReady)
    }

    @Test func `readyz says which condition does not hold and why`() async throws {
        let health = health()
        health.ready(.assigned)
        health.ready(.broker)
        health.notReady(.database, "connection refused")
        let (status, body) = try await get("/readyz", health)
        #expect(status == 503)
        let root = try JSONDocument(parsing: Array(body.utf8)).root
        #expect(root["ready"]?.bool == false)
        #expect(root["conditions"]?["database"]?.string == "connection refused")
        #expect(root["conditions"]?["broker"]?.string == "ok")
        health.ready(.database)
        #expect(try await get("/readyz", health).0 == 200)
    }

    @Test func `livez and metrics are answered`() async throws {
        #expect(try await get("/livez", health()) == (200, "ok\n"))
        let stuck = Health(conditions: [], stallMax: .seconds(1), now: .now - .seconds(5))
        #expect(try await get("/livez", stuck).0 == 503)
        let (status, metrics) = try await get("/metrics", health())
        #expect(status == 200)
        #expect(metrics.contains(#"entitlements_worker_ready_state{condition="broker"} 0"#))
    }
}
