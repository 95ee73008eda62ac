import Foundation
import Postgres
import TestSupport
import Testing

/// The clients of `schemas/postgres/API.md` and the programs of `deploy/examples`, each run by its
/// own interpreter.
@Suite(.timeLimit(.minutes(10))) struct ClientExampleTests {
    private let options: PostgresOptions
    private let connection: PostgresConnection

    init() async throws {
        options = try await PostgresServer.shared.migratedDatabase()
        connection = try await PostgresConnection.connect(options)
        try await connection.execute(
            script: """
                INSERT INTO entitlements (environment, bundle_id, original_transaction_id,
                    entitlement_key, user_id, periods)
                VALUES ('Production', 'com.example', '1000', 'pro', 'user-17', '{[2026-01-01,)}');
                INSERT INTO ledger (environment, bundle_id, transaction_id, currency,
                    original_transaction_id, product_id, user_id, amount, purchase_date_ms)
                VALUES ('Production', 'com.example', '1001', 'coins', '1001', 'chest', 'user-17',
                    100, 0)
                """)
    }

    private static let python = "/usr/bin/python3"
    private static let hasPython = FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/psycopg2")
    private static let jar = "/usr/share/java/postgresql.jar"
    private static let hasJava = ["/usr/bin/javac", jar].allSatisfy { FileManager.default.fileExists(atPath: $0) }

    private func run(_ command: [String]) throws -> ProgramRun {
        let url = options.connectionString
        let java = url.replacing(/^postgresql:\/\/(.+?):(.+?)@(.+)$/) { match in
            "jdbc:postgresql://\(match.3)?user=\(match.1)&password=\(match.2)"
        }
        return try ProgramRun(
            "/usr/bin/env", command,
            environment: [
                "PATH": "/usr/bin:/bin", "DATABASE_URL": url, "JDBC_URL": java, "NODE_PATH": NodePackages.path,
            ])
    }

    /// Runs the page's only block of a language, of ten lines at most.
    private func runBlock(
        _ language: String, in frame: (begin: String, end: String) = ("", ""), file: String, _ command: [String],
        printing expected: String = "true\nle001\n"
    ) throws {
        let page = try String(
            contentsOf: ReferenceScript.root.appending(path: "schemas/postgres/API.md"), encoding: .utf8)
        let parts = page.components(separatedBy: "```\(language)\n")
        #expect(parts.count == 2)
        let block = try #require(parts.last?.components(separatedBy: "```").first)
        #expect(block.split(separator: "\n").count <= 10)
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: file)
        try (frame.begin + block + frame.end).write(to: path, atomically: true, encoding: .utf8)
        let result = try run(command + [path.path])
        #expect(result.text.lowercased() == expected, "\(result.text)")
    }

    @Test(.enabled(if: hasPython, "install python3-psycopg2")) func `the page's Python client runs`() throws {
        try runBlock("python", file: "client.py", [Self.python])
    }

    @Test(.enabled(if: NodePackages.hasPG, "install node-pg (deploy/install.sh test)"))
    func `the page's Node client runs`() throws { try runBlock("javascript", file: "client.cjs", ["node"]) }

    @Test(.enabled(if: hasJava, "install libpostgresql-jdbc-java and a JDK")) func `the page's Java client runs`()
        throws
    {
        let begin = "class Client { public static void main(String[] arguments) {\n"
        try runBlock("java", in: (begin, "}}"), file: "Client.java", ["java", "-cp", Self.jar])
    }

    private static let swiftCompiler = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map {
        "\($0)/swiftc"
    }.first(where: FileManager.default.isExecutableFile(atPath:))

    /// The client is only parsed, as PostgresNIO is no part of this package.
    @Test(.enabled(if: swiftCompiler != nil, "no swiftc in PATH")) func `the page's Swift client parses`() throws {
        let compiler = try #require(Self.swiftCompiler)
        try runBlock("swift", file: "client.swift", [compiler, "-parse"], printing: "")
    }

    private func example(_ name: String, _ arguments: String...) throws -> (Int32, String) {
        let path = ReferenceScript.root.appending(path: "deploy/examples/\(name)").path
        let run = try run([Self.python, "-B", path] + arguments)
        return (run.status, run.text)
    }

    @Test(.enabled(if: hasPython, "install python3-psycopg2"))
    func `a token is linked at sign-in once, and never taken from another user`() async throws {
        let token = "7E3F2A10-52C0-4F53-9AB5-1FD1C1B0C6AA"
        for _ in 1...2 { #expect(try example("link_at_sign_in.py", "user-17", token) == (0, "linked\n")) }
        let (status, output) = try example("link_at_sign_in.py", "user-18", token)
        #expect(status == 1 && output == "the token belongs to another user\n")
        let none = "00000000-0000-0000-0000-000000000000"
        for (user, wrong) in [("user-17", "notauuid"), ("user-17", none), (" ", token)] {
            #expect(try example("link_at_sign_in.py", user, wrong).0 == 65, "\(user) \(wrong)")
        }
        #expect(try example("link_at_sign_in.py", "user-17").0 == 64)
        let rows = try await connection.query("SELECT user_id, key FROM account_links")
        #expect(rows.map { $0.text(0) } == ["user-17"])
        #expect(rows[0].text(1) == token.lowercased())
    }

    @Test(.enabled(if: hasPython, "install python3-psycopg2"))
    func `a debit is spent once for its reference, and refused without enough`() throws {
        for _ in 1...2 { #expect(try example("spend.py", "user-17", "coins", "30", "order-1") == (0, "70\n")) }
        let refused = try example("spend.py", "user-17", "coins", "71", "order-2")
        #expect(refused == (1, "the balance does not suffice\n"))
        #expect(try example("spend.py", "user-17", "coins", "31", "order-1").0 == 65)
        #expect(try example("spend.py", "user-17", "coins", "70", "order-3") == (0, "0\n"))
        #expect(try example("spend.py", "user-17", "coins", "ten", "order-4").0 == 64)
        #expect(try example("spend.py", "user-17", "coins", "0", "order-4").0 == 64)
    }
}
