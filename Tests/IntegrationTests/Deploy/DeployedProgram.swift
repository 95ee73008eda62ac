import Foundation
import OpenSSL
import Simulation
import TestSupport

/// A program as a file of `deploy` starts it: its command line, variables and files.
struct DeployedProgram {
    /// Name of the resource or service, for findings.
    let name: String
    let command: [String]
    let environment: [String: String]
    /// The mounted files, by absolute path.
    let files: [String: String]

    /// The programs that the image holds.
    static let known = Result { try text(of: "deploy/container/programs").split(separator: "\n").map(String.init) }

    private static let settings = Result { try text(of: "deploy/SETTINGS.md") }

    static func text(of path: String) throws -> String {
        try String(contentsOf: ReferenceScript.root.appending(path: path), encoding: .utf8)
    }

    /// Asks the program itself about faults of its settings.
    func findings() async throws -> [String] {
        guard let program = command.first, try Self.known.get().contains(program) else {
            return ["\(name): the image has no program \(command)"]
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "deployed-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try writeFiles(below: folder)
        let isWorker = program.hasSuffix("-worker")
        var found = try await isWorker ? unknownSettings(program) : toolFindings(program)
        if isWorker || command.dropFirst().first == "serve" { found += try await checkFindings(program, folder) }
        return (missingFiles + found).map { "\(name): \($0)" }
    }

    private func writeFiles(below folder: String) throws {
        for (path, text) in files {
            let url = URL(filePath: folder + path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try local(text, folder).write(to: url, atomically: false, encoding: .utf8)
        }
    }

    /// A text with the paths of mounted files as they are below the folder.
    private func local(_ text: String, _ folder: String) -> String {
        files.keys.reduce(text) { $0.replacing($1, with: folder + $1) }
    }

    /// A private key as App Store Connect offers it for download.
    static let apiKey = (try? PrivateKey.generate(.p256).pem) ?? ""

    /// Output of `dead-letter password`; nobody signs in.
    static let viewer =
        "vera:viewer:scrypt$65536$8$2$uA7g77+TXGW3p7B3gst3Xg==$ba4y23c6EhZkbhxQM9IdX3LFBvmq97TA1R6IZXQwERA=\n"

    /// Files that a setting names and that no mount provides.
    private var missingFiles: [String] {
        let named = environment.filter { $0.key.hasSuffix("_FILE") }.values
        let options = command.flatMap { $0.split(separator: "=").map(String.init) }
        let paths = Set(named).union(options.filter { $0.hasSuffix(".json") })
        return paths.filter { files[$0] == nil }.sorted().map { "nothing is mounted at \($0)" }
    }

    /// A service reports whether it would start like this.
    private func checkFindings(_ program: String, _ folder: String) async throws -> [String] {
        let check = try await Self.run(
            program, command.dropFirst().map { local($0, folder) } + ["--check"],
            environment.mapValues { local($0, folder) })
        return check.end == .exited(code: 0) ? [] : ["--check: \(check.output)"]
    }

    private func unknownSettings(_ program: String) async throws -> [String] {
        let help = try await Self.run(program, ["--help"], [:]).output
        let unknown = environment.keys.filter { variable in
            !variable.hasPrefix("RDKAFKA_") && !help.contains("(\(Self.setting(variable));")
        }
        return unknown.sorted().map { "\(program) has no setting \($0)" }
    }

    /// A tool opens connections at once: its options are compared with its help.
    private func toolFindings(_ program: String) async throws -> [String] {
        let words = Array(command.dropFirst().prefix { !$0.hasPrefix("-") })
        let name = words.joined(separator: " ")
        guard !words.isEmpty else { return ["\(program) is given no command"] }
        let help = try await Self.run(program, words + ["--help"], [:])
        guard help.end == .exited(code: 0) else { return ["\(program) has no \(name)"] }
        let known = help.output.split { $0.isWhitespace }.map { $0.prefix { $0 != "=" } }
        let options = command.filter { $0.hasPrefix("--") }.map { $0.prefix { $0 != "=" } }.filter {
            !known.contains($0)
        }
        let text = try Self.settings.get()
        let unknown = environment.keys.filter { variable in
            !variable.hasPrefix("RDKAFKA_") && !text.contains("`\(Self.setting(variable))`")
                && !text.contains("`\(variable)`")
        }
        return options.map { "\(program) \(name) has no option \($0)" }
            + unknown.sorted().map { "\(program) has no setting \($0)" }
    }

    /// A secret also comes from a file.
    private static func setting(_ variable: String) -> String {
        variable.hasSuffix("_FILE") && variable != "CONSOLE_PASSWORD_FILE"
            ? String(variable.dropLast("_FILE".count)) : variable
    }

    private static func run(_ program: String, _ arguments: [String], _ environment: [String: String]) async throws -> (
        end: ProcessEnd, output: String
    ) {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = try ChildProcess(
            executable: "\(BuiltWorkers.folder)/\(program)", arguments: arguments,
            environment: environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 },
            standardOutput: .file(path: file.path), standardError: .file(path: file.path))
        let end = try await process.waitForEnd(deadline: .hopeless)
        return (end, try String(contentsOf: file, encoding: .utf8))
    }
}
