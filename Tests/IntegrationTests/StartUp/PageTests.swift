import AppStore
import Entitlements
import Foundation
import Operations
import Postgres
import TestSupport
import Testing

/// The pages of one task each, with their files and commands as they are written there.
@Suite(.needsBuiltWorkers, .timeLimit(.minutes(10))) struct PageTests {
    @Test func `the catalog's page shows what its commands print`() async throws {
        let page = try CommandPage("deploy/catalog.md")
        #expect(page.files.count == 5 && page.commands.count == 12)
        try page.run(environment: ["DATABASE_URL": await PostgresServer.shared.migratedDatabase().connectionString])
    }

    @Test func `a purchase goes by the entry of its date, and a product without one by its name`() throws {
        let page = try CommandPage("deploy/catalog.md")
        let dated = try Catalog(json: Array(try #require(page.files["dated.json"]).utf8))
        let (before, after) = (
            try #require(Timestamp(iso8601: "2026-04-30")), try #require(Timestamp(iso8601: "2026-05-02"))
        )
        let coins = try #require(dated["com.example.coins.100"]?.credits["coins"])
        #expect(coins.value(at: before) == 100 && coins.value(at: after) == 120)
        let season = try #require(dated["com.example.season"]?.durations)
        #expect(season.value(at: before)?.months == 3 && season.value(at: after)?.months == 6)
        #expect(dated.entitlementKeys(of: "com.example.other") == ["com.example.other"])
    }

    @Test func `a link moves a token as the page of ownership shows`() async throws {
        let page = try CommandPage("deploy/ownership.md")
        #expect(page.commands.count == 3)
        try page.run(environment: ["DATABASE_URL": await PostgresServer.shared.migratedDatabase().connectionString])
    }

    @Test func `a table is imported as the page of moving in shows`() async throws {
        let page = try CommandPage("deploy/moving-in.md")
        #expect(page.commands.count == 3)
        let options = try await PostgresServer.shared.migratedDatabase()
        try await PostgresConnection.lend(options) { connection in
            try await connection.execute(
                script: """
                    INSERT INTO recovery_windows (environment, bundle_id, job)
                    VALUES ('Production', 'com.example.app', 'complete')
                    """)
        }
        try page.run(environment: ["DATABASE_URL": options.connectionString])
    }

    @Test func `the integrator's SQL answers, and the sample is made, as they stand there`() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        try await PostgresConnection.lend(options) { connection in
            try await connection.execute(
                script: """
                    SELECT grant_entitlement('user-17', 'pro', NULL, 'a trial', 'anna');
                    SELECT ledger_credit('user-17', 'coins', 100, 'ticket-1', 'a gift');
                    """)
        }
        let page = try CommandPage("deploy/integrating.md")
        let sql = try ProgramRun(
            "/usr/bin/psql", ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", options.connectionString],
            input: Data(try #require(page.code["sql"]).utf8))
        let answers = sql.text.split(separator: "\n").map(String.init)
        #expect(answers.count == 5 && answers[...1] == ["t", "f"] && answers[4] == "70", "\(sql.text)")
        #expect(answers[2].hasPrefix("user-17|pro|") && answers[3] == "pro|t|")

        let sample = "demo sample --bundle-id com.example.app --kind refund"
        #expect(try CommandPage("deploy/testing.md").text.contains("`\(sample)`"))
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let printed = try CommandPage.run(sample, in: folder)
        #expect(printed.split(separator: "\n").count { $0.hasPrefix("{") } == 2, "\(printed.suffix(500))")
    }

    private static let swiftCompiler = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map {
        "\($0)/swiftc"
    }.first(where: FileManager.default.isExecutableFile(atPath:))

    /// The code is only parsed, as there is no StoreKit on Linux.
    @Test(.enabled(if: swiftCompiler != nil, "no swiftc in PATH")) func `the app's Swift parses`() throws {
        let code = try #require(CommandPage("deploy/storekit.md").code["swift"])
        #expect(["appAccountToken", "Transaction.updates", "finish()", "AppStore.sync()"].allSatisfy(code.contains))
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).swift")
        try code.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let run = try ProgramRun(try #require(Self.swiftCompiler), ["-parse", file.path])
        #expect(run.isSuccess && run.text.isEmpty, "\(run.text)")
    }
}

/// A page whose blocks are files (```` ```json NAME ````) and sessions of a shell (```` ```console ````).
struct CommandPage {
    private(set) var files: [String: String] = [:]
    /// The commands with the lines that each prints.
    private(set) var commands: [(line: String, output: String)] = []
    /// The text of all blocks of a language.
    private(set) var code: [String: String] = [:]

    let text: String

    init(_ path: String) throws {
        text = try String(contentsOf: ReferenceScript.root.appending(path: path), encoding: .utf8)
        let parts = text.components(separatedBy: "```")
        for index in parts.indices where !index.isMultiple(of: 2) {
            let lines = parts[index].split(separator: "\n", omittingEmptySubsequences: false)
            let words = lines[0].split(separator: " ").map(String.init)
            if words.count == 1 { code[words[0], default: ""] += lines.dropFirst().joined(separator: "\n") }
            if words.count == 2 { files[words[1]] = lines.dropFirst().joined(separator: "\n") }
            guard words == ["console"] else { continue }
            for line in lines.dropFirst().dropLast() {
                if line.hasPrefix("$ ") {
                    commands.append((String(line.dropFirst(2)), ""))
                } else {
                    try #require(!commands.isEmpty, "\(path): \(line)")
                    commands[commands.count - 1].output += line + "\n"
                }
            }
        }
    }

    /// Runs the commands in order, in a folder with the files, and compares what they print.
    func run(environment: [String: String]) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files {
            try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
        }
        for (line, output) in commands {
            let printed = try Self.run(line, environment, in: folder)
            #expect(Self.isShown(printed, as: output), "\(line): \(printed)")
        }
    }

    /// Whether a page shows what was printed; a line that ends with `…` stands for any that begins so.
    private static func isShown(_ printed: String, as output: String) -> Bool {
        let lines = printed.split(separator: "\n", omittingEmptySubsequences: false)
        let shown = output.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.count == shown.count
            && zip(lines, shown).allSatisfy { $1.hasSuffix("…") ? $0.hasPrefix($1.dropLast()) : $0 == $1 }
    }

    /// Runs one line of the shell.
    static func run(_ line: String, _ environment: [String: String] = [:], in folder: URL) throws -> String {
        let programs = ["PATH": "\(BuiltWorkers.folder):/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no"]
        return try ProgramRun("/bin/bash", ["-c", line], environment: programs.merging(environment) { $1 }, in: folder)
            .text
    }
}
