import Foundation
import JSON
import Records
import Simulation
import TestSupport
import Testing
import Topology

/// `deploy/compose.yaml`: valid by the specification's schema, and fit for the programs.
@Suite(.needsSchemas, .needsBuiltWorkers, .timeLimit(.minutes(10))) struct ComposeTests {
    private static let file = "deploy/compose.yaml"

    /// Variables that an operator must set.
    private static let chosen = [
        "APPS": """
        [{"bundle_id":"com.example.app","environment":"Sandbox","app_apple_id":1,\
        "api_issuer_id":"I","api_key_id":"K","api_key_file":"/run/secrets/api-key"}]
        """, "POSTGRES_PASSWORD": "secret", "GRAFANA_PASSWORD": "secret",
    ]

    /// Replaces `${NAME:?why}` and `${NAME:-default}` as Compose does.
    private static func interpolated(_ text: String) -> String {
        text.replacing(/\$\{(\w+):(\?|-)([^}]*)\}/) { match in
            chosen[String(match.1)] ?? (match.2 == "-" ? String(match.3) : "")
        }
    }

    private static func services() throws -> (findings: [String], services: [String: JSONValue]) {
        let manifests = try Manifests("compose", ReferenceScript.root.appending(path: file).path)
        let members = manifests.objects.first?["services"]?.members
        let services = members?.reduce(into: [String: JSONValue]()) { services, member in
            services[member.key.string ?? "?"] = member.value
        }
        return (manifests.findings, services ?? [:])
    }

    @Test func `it is valid, and each program starts with its settings`() async throws {
        let (findings, services) = try Self.services()
        #expect(findings.isEmpty, "\(findings.joined(separator: "\n"))")
        let ours = services.filter {
            $0.value["image"]?.string.map(Self.interpolated)?.hasPrefix("entitlement-pipeline:") == true
        }
        let names = [
            "chains", "console", "dedupe-worker", "entitle-worker", "index", "link-worker", "migrate", "prune",
            "reconcile", "recovery-worker", "topics", "verify-worker",
        ]
        #expect(ours.keys.sorted() == names)
        for (name, service) in ours {
            let files = [
                "/run/secrets/console-users": DeployedProgram.viewer, "/run/secrets/api-key": DeployedProgram.apiKey,
            ]
            let program = DeployedProgram(
                name: name, command: service["command"]?.strings ?? [],
                environment: service["environment"]?.texts.mapValues(Self.interpolated) ?? [:],
                files: service["secrets"] == nil ? [:] : files)
            let found = try await program.findings()
            #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
            #expect(service["read_only"]?.bool == true, "\(name)")
            #expect(service["cap_drop"]?.strings == ["ALL"], "\(name)")
        }
    }

    @Test func `each task writes a file that Prometheus collects`() throws {
        let (_, services) = try Self.services()
        for task in ["reconcile", "chains", "prune"] {
            let command = services[task]?["command"]?.strings.joined(separator: " ") ?? ""
            #expect(command.contains(/--metrics[= ]\/metrics\/\w+\.prom/), "\(task)")
            #expect(services[task]?["volumes"]?.strings.contains("metrics:/metrics") == true)
        }
        #expect(services["node-exporter"]?["volumes"]?.strings == ["metrics:/metrics:ro"])
    }

    @Test func `the dependencies and mounts exist`() throws {
        let (_, services) = try Self.services()
        for (name, service) in services {
            let awaited = service["depends_on"]?.members.compactMap { $0.key.string } ?? []
            for other in awaited { #expect(services[other] != nil, "\(name) waits for \(other)") }
            for volume in service["volumes"]?.strings ?? [] where volume.hasPrefix("./") {
                let path = "deploy/" + volume.dropFirst(2).prefix { $0 != ":" }
                let url = ReferenceScript.root.appending(path: path)
                let isThere = FileManager.default.fileExists(atPath: url.path)
                #expect(isThere, "\(name) mounts \(path)")
            }
        }
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: promtool), "no promtool"))
    func `Prometheus accepts its settings, and finds every worker`() async throws {
        let path = ReferenceScript.root.appending(path: Self.file).path
        let document = try #require(try Manifests("compose", path).objects.first)
        let text = try #require(document["configs"]?["prometheus"]?["content"]?.string)
        for stage in Topology.stages {
            #expect(document["services"]?[stage.program] != nil, "\(stage.program)")
            #expect(text.contains(stage.program), "\(stage.program)")
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createSymbolicLink(
            at: folder.appending(path: "rules"),
            withDestinationURL: ReferenceScript.root.appending(path: "deploy/prometheus"))
        let settings = folder.appending(path: "prometheus.yaml")
        try text.write(to: settings, atomically: true, encoding: .utf8)
        let log = folder.appending(path: "log")
        let process = try ChildProcess(
            executable: Self.promtool, arguments: ["check", "config", settings.path], environment: [:],
            standardOutput: .file(path: log.path), standardError: .file(path: log.path))
        let end = try await process.waitForEnd(deadline: .hopeless)
        let output = try String(contentsOf: log, encoding: .utf8)
        #expect(end == .exited(code: 0), "\(output)")
        #expect(output.contains("rules/alerts.yaml") && output.contains("rules found"), "\(output)")
    }

    private static let promtool = "/usr/bin/promtool"
}
