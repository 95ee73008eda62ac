import Foundation
import Operations
import Postgres
import Simulation
import TestSupport
import Testing

@testable import Demonstration

/// A copy of this machine, booted with the pipeline's systemd services, on a test's pipeline.
struct SystemdMachine {
    /// A process of a service, as the kernel reports it.
    struct Confinement {
        let user: String
        /// Members of `/proc/PID/status`, such as `Seccomp`.
        let status: [String: String]
    }

    private let folder: String
    private let process: ChildProcess

    static let isAvailable =
        getuid() == 0
        && ["/usr/bin/systemd-nspawn", "/usr/bin/systemd-analyze"].allSatisfy {
            FileManager.default.isExecutableFile(atPath: $0)
        }

    /// Writes settings and secrets as an operator does, and boots.
    init(_ pipeline: RunningPipeline) throws {
        folder = "\(pipeline.folder)/machine"
        try Self.write(pipeline, below: "\(folder)/etc")
        let log = ChildProcess.Output.file(path: "\(folder)/log")
        process = try ChildProcess(
            executable: ReferenceScript.root.appending(path: "Tests/Reference/deploy/boot.sh").path,
            arguments: [BuiltWorkers.folder, folder], environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"],
            standardOutput: log, standardError: log, signalOnOurDeath: "TERM")
    }

    private static func write(_ pipeline: RunningPipeline, below folder: String) throws {
        let files = FileManager.default
        for user in ["dedupe", "link", "entitle", "index", "console", "operator", "chains"] {
            let secrets = "\(folder)/secrets/entitlements-\(user)"
            try files.createDirectory(atPath: secrets, withIntermediateDirectories: true)
            let url = Data((pipeline.database.connectionString + "\n").utf8)
            _ = files.createFile(atPath: "\(secrets)/database-url", contents: url)
        }
        let users = "\(folder)/secrets/entitlements-console/users"
        _ = files.createFile(atPath: users, contents: Data(DeployedProgram.viewer.utf8))
        let settings = DemoSettings(
            bootstrap: pipeline.cluster.bootstrapServers, prefix: pipeline.layout.prefix,
            // Nothing listens there: only the secret's file counts.
            databaseURL: "postgresql://nobody@127.0.0.1:1/nothing", apps: pipeline.traffic.apps,
            rootFile: "/etc/entitlements/root.pem")
        _ = files.createFile(atPath: "\(folder)/settings.json", contents: Data(settings.json))
        let root = Data(pipeline.traffic.rootPEM.utf8)
        _ = files.createFile(atPath: "\(folder)/root.pem", contents: root)
    }

    /// Everything that systemd and the services have printed.
    var log: String { text("log") }

    /// The findings of `systemd-analyze verify` about the units.
    var findings: String { text("verify") }

    /// The exposure of each unit by `systemd-analyze security`.
    var exposures: [String: Double] {
        let lines = text("exposure").matches(of: /level for (\S+): ([0-9.]+)/)
        return Dictionary(uniqueKeysWithValues: lines.map { (String($0.1), Double($0.2) ?? .infinity) })
    }

    /// The confinement of the process whose command line begins so.
    ///
    /// `nil` before it runs.
    func confinement(of command: String) -> Confinement? {
        let files = FileManager.default
        let processes = (try? files.contentsOfDirectory(atPath: "/proc")) ?? []
        for number in processes where number.allSatisfy(\.isNumber) {
            let words = files.contents(atPath: "/proc/\(number)/cmdline") ?? Data()
            let line = String(decoding: words, as: UTF8.self).split(separator: "\0")
            guard line.joined(separator: " ").hasPrefix(command) else { continue }
            return confinement(process: number)
        }
        return nil
    }

    private func confinement(process number: String) -> Confinement? {
        let bytes = FileManager.default.contents(atPath: "/proc/\(number)/status") ?? Data()
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let status = lines.reduce(into: [String: String]()) { status, line in
            let words = line.split(separator: ":", maxSplits: 1)
            guard words.count == 2 else { return }
            status[String(words[0])] = words[1].trimmingCharacters(in: .whitespaces)
        }
        guard let id = status["Uid"]?.split(separator: "\t").first else { return nil }
        let user = text("passwd").split(separator: "\n").map { $0.split(separator: ":") }.first {
            $0.count > 2 && $0[2] == id
        }?.first
        return Confinement(user: user.map(String.init) ?? "number \(id)", status: status)
    }

    /// The answer of a service on its port.
    ///
    /// `nil` before it answers.
    func get(_ path: String, port: UInt16) -> String? {
        let request = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        let answer = try? RawClient.exchange(request, port: port)
        return answer.flatMap { $0.isEmpty ? nil : $0 }
    }

    func requireRunning() throws {
        guard process.isRunning else { throw PipelineFailure("the machine has ended:\n\(lastWords)") }
    }

    var lastWords: String { log.split(separator: "\n").suffix(30).joined(separator: "\n") }

    /// Shuts down in order.
    func shutDown() async throws { try await process.stop(grace: .hopeless) }

    private func text(_ name: String) -> String {
        let bytes = FileManager.default.contents(atPath: "\(folder)/\(name)") ?? Data()
        return String(decoding: bytes, as: UTF8.self)
    }
}
