import Commands
import Entitlements
import Foundation
import Operations
import Postgres
import Store
import TestSupport
import Testing

@Suite struct DatabaseCommandTests {
    private let transcript = ConsoleTranscript()
    private let options: PostgresOptions

    init() async throws { options = try await PostgresServer.shared.emptyDatabase() }

    private func run(_ arguments: String...) async -> Int32 { await run(arguments) }

    private func run(_ arguments: [String]) async -> Int32 {
        await PipelineTool.tool.run(arguments, ["DATABASE_URL": options.connectionString], on: transcript)
    }

    /// Runs `link add` or `link remove` with name and reason.
    private func link(_ arguments: String...) async -> Int32 { await link(arguments) }

    private func link(_ arguments: [String]) async -> Int32 {
        await run(["link"] + arguments + ["--by", "otto", "--reason", "ticket 7"])
    }

    private func file(_ text: String) throws -> String {
        let path = FileManager.default.temporaryDirectory.appending(path: "input-\(UUID().uuidString)")
        try Data(text.utf8).write(to: path)
        return path.path
    }

    @Test func `migrating twice does the work once`() async throws {
        #expect(await run("migrate") == 0)
        #expect(transcript.output.contains("applied  1  facts"))
        #expect(await run("migrate") == 0)
        #expect(transcript.output.contains("nothing to do"))
    }

    @Test func `a plan of facts shows on a terminal how many purchases are compared`() async throws {
        #expect(await run("migrate") == 0)
        let shown = ConsoleTranscript()
        let context = CommandContext(
            console: shown.console(isInteractive: true), environment: ["DATABASE_URL": options.connectionString])
        #expect(await PipelineTool.tool.run(["plan", "--facts"], in: context) == 0)
        #expect(shown.notes.contains("\r\u{1B}[Kcomparing: 0 of 0 purchases"), "\(shown.notes)")
        #expect(shown.notes.hasSuffix("\r\u{1B}[K"))
        #expect(!shown.output.contains("comparing"))
    }

    @Test func `a plan of facts reads a former schema, and asks for the migration only if it needs it`() async throws {
        #expect(await run("migrate") == 0)
        try await PostgresConnection.lend(options) { connection in
            try await connection.execute(
                script: "DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations)")
            #expect(await run("plan", "--facts") == 0)
            try await connection.execute(script: "ALTER TABLE transactions DROP COLUMN original_transaction_id CASCADE")
        }
        #expect(await run("plan", "--facts") == 78)
        #expect(transcript.notes.contains("this program needs"), "\(transcript.notes)")
        #expect(await run("rebuild") == 64)
        #expect(transcript.notes.contains("--replace is required"))
    }

    @Test func `the printed rights are a script that can be run again and again`() async throws {
        #expect(await run("migrate") == 0)
        let prefix = "printed-\(UUID().uuidString)-"
        let printed = ConsoleTranscript()
        let context = CommandContext(
            console: printed.console(),
            environment: ["DATABASE_URL": options.connectionString, "KAFKA_BOOTSTRAP": "localhost:9092"])
        let arguments = ["grants", "--name-prefix=\(prefix)"]
        #expect(await PipelineTool.tool.run(arguments, in: context) == 0)
        let script = printed.output.prefix { $0 != "#" }
        try await PostgresConnection.lend(options) { connection in
            for _ in 0..<2 { try await connection.execute(script: String(script)) }
            #expect(await run("grants", "--apply", "--name-prefix", prefix) == 0)
            #expect(transcript.notes.contains("Kafka's rights are not changed"))
            let rights = try await connection.query(
                """
                SELECT has_table_privilege('\(prefix)link-worker', 'owners', 'UPDATE')::text,
                    has_table_privilege('\(prefix)link-worker', 'transactions', 'SELECT')::text
                """)[0]
            #expect(rights.text(0) == "true" && rights.text(1) == "false")
            for role in DatabaseRole.all {
                try await connection.execute(
                    script: """
                        DROP OWNED BY "\(prefix)\(role.name)"; DROP ROLE "\(prefix)\(role.name)"
                        """)
            }
        }
    }

    @Test func `a database that was not migrated ends with 78 and says what to do`() async throws {
        #expect(await run("link", "list") == 78)
        #expect(transcript.notes.contains("pipeline migrate"))
    }

    @Test func `a server that is not there ends with 69`() async throws {
        let code = await PipelineTool.tool.run(
            ["migrate", "--postgres", "postgresql://127.0.0.1:1/none"], on: transcript)
        #expect(code == 69)
    }

    @Test func `the same catalog once more changes nothing`() async throws {
        #expect(await run("migrate") == 0)
        let coins = #"{"products":{"coins":{"type":"consumable","credits":{"coins":10}}}}"#
        let path = try file(coins)
        #expect(await run("catalog", "apply", path) == 0)
        #expect(transcript.output.contains("applied as version 1"))
        #expect(await run("catalog", "apply", path) == 0)
        #expect(transcript.output.contains("holds already as version 1"))
        let empty = try file(#"{"products":{}}"#)
        #expect(await run("catalog", "check", empty) == 65)
        #expect(await run("catalog", "apply", empty) == 65)
        #expect(transcript.notes.contains("names no product; --allow-empty"))
        #expect(await run("catalog", "apply", empty, "--allow-empty") == 0)
        #expect(transcript.output.contains("applied as version 2"))
        #expect(await run("catalog", "apply", path, "--by", "otto", "--reason", "coins again") == 0)
        #expect(transcript.output.contains("applied as version 3"))
        let signed = try await PostgresConnection.lend(options) {
            try await $0.query("SELECT requested_by, reason FROM catalog_versions WHERE version = 3")[0]
        }
        #expect(signed.text(0) == "otto" && signed.text(1) == "coins again")
    }

    /// Products with all members of a subscription, so that each has many values.
    private static func catalog(_ name: String, _ count: Int) -> String {
        let products = (0..<count).map {
            #""\#(name).\#($0)":{"type":"auto-renewable","entitlements":["a","b"],"group":"g","#
                + #""level":1,"familyShareable":true}"#
        }
        return "{\"products\":{\(products.joined(separator: ","))}}"
    }

    @Test func `two large catalogs together are stored as their reader reads them`() async throws {
        #expect(await run("migrate") == 0)
        let (one, other) = (Self.catalog("one", 6_000), Self.catalog("other", 6_000))
        #expect(await run("catalog", "apply", try file(one), "--with", try file(other)) == 0)
        #expect(transcript.output.contains("12,000 products"))
        let stored = try await PostgresConnection.lend(options) { connection in
            try await connection.run(CatalogTable.content, 1)[0]
        }
        #expect(try Catalog(json: Array(stored.bytes)).products.count == 12_000)
        let xcode = (0..<1_200).map { number in
            let names = (0..<10).map { #"{"displayName":"n","description":"d","locale":"l\#($0)"}"# }
            return #"{"productID":"\#(number)","type":"NonConsumable","localizations":["# + names.joined(separator: ",")
                + "]}"
        }
        let path = try file("{\"products\":[\(xcode.joined(separator: ","))]}")
        #expect(await run("catalog", "check", path) == 0)
    }

    @Test func `two catalogs that are too large together are refused`() async throws {
        #expect(await run("migrate") == 0)
        func bare(_ name: String) -> String {
            let products = (0..<50_001).map { #""\#(name)\#($0)":{"type":"non-consumable"}"# }
            return "{\"products\":{\(products.joined(separator: ","))}}"
        }
        let (one, other) = (try file(bare("a")), try file(bare("b")))
        #expect(await run("catalog", "apply", one, "--with", other) == 65)
        #expect(transcript.notes.contains("100002 products, more than 100000"))
        #expect(await run("catalog", "check", one) == 0)
    }

    @Test func `what was not found ends with 1, in every command`() async throws {
        #expect(await run("migrate") == 0)
        for arguments in [
            ["link", "list"], ["link", "list", "--history"], ["link", "reapply"],
            ["link", "remove", "original_transaction_id", "1", "--by", "b", "--reason", "r"],
            ["link", "add", "--from", try file("kind,key,user\n"), "--by", "b", "--reason", "r"],
            ["forget", "nobody", "--by", "dpo", "--reason", "r"], ["dedupe", "forget", "--all", "--yes"],
            ["explain", "nobody"], ["revoke-grant", "1", "--by", "b", "--reason", "r"],
            ["explain", "nobody", "--known-at", "2026-01-01"], ["explain", "--transaction", "1"],
        ] { #expect(await run(arguments) == 1, "\(arguments) \(transcript.notes)") }
        // The table of forgotten users names this one.
        #expect(await run("whats-stored", "nobody") == 0)
        #expect(await run("whats-stored", "somebody") == 1)
        let grant = ["grant", "nobody", "pro", "--new", "--until=forever", "--by", "b", "--reason", "r"]
        #expect(await run(grant) == 0)
        #expect(await run("explain", "nobody") == 0)
        #expect(await link("add", "original_transaction_id", "1", "anna") == 0)
        // It holds already.
        #expect(await link("add", "original_transaction_id", "1", "anna") == 0)
        #expect(await run("link", "list") == 0)
        #expect(await link("remove", "original_transaction_id", "1") == 0)
        #expect(await run("forget", "nobody", "--by", "dpo", "--reason", "r") == 0, "the grant names the user")
        #expect(await run("forget", "nobody-at-all", "--by", "dpo", "--reason", "r") == 1)
        #expect(transcript.output.contains("nothing was known of nobody-at-all"))
    }

    @Test func `a wrong catalog is refused with all its problems`() async throws {
        let path = try file(#"{"products":{"a":{"type":"x"},"b":{"type":"consumable"}}}"#)
        #expect(await run("catalog", "check", path) == 65)
        #expect(transcript.notes.contains("2 problems"))
        #expect(transcript.notes.contains(#"products["a"].type"#))
        #expect(transcript.notes.contains(#"products["b"].credits"#))
        #expect(await run("catalog", "check", "/nowhere") == 66)
    }

    @Test func `a file of Xcode's is applied, and completed by another`() async throws {
        #expect(await run("migrate") == 0)
        let xcode = try file(
            """
            {"products":[{"productID":"coins","type":"Consumable"}],
             "nonRenewingSubscriptions":[{"productID":"season","type":"NonRenewingSubscription"}],
             "subscriptionGroups":[{"name":"Plans","subscriptions":[
               {"productID":"pro","type":"RecurringSubscription","groupNumber":1}]}]}
            """)
        #expect(await run("catalog", "check", xcode) == 0)
        #expect(transcript.output.contains("3 products: "))
        #expect(transcript.notes.contains("coins credits nothing"))
        #expect(transcript.notes.contains("season has no end"))
        #expect(await run("catalog", "apply", xcode) == 0)
        #expect(transcript.output.contains("applied as version 1"))
        #expect(await run("catalog", "apply", xcode) == 0)
        #expect(transcript.output.contains("holds already as version 1"))
        let completing = try file(#"{"products":{"season":{"type":"non-renewing","duration":"P3M"}}}"#)
        #expect(await run("catalog", "apply", xcode, "--with", completing) == 0)
        #expect(transcript.output.contains("applied as version 2"))
        #expect(await run("catalog", "check", try file(#"{"products":[{"type":"x"}]}"#)) == 65)
        #expect(transcript.notes.contains("products[0].type"))
    }

    @Test func `links are added, changed, listed and removed`() async throws {
        #expect(await run("migrate") == 0)
        let token = "9F0C11AB-1111-4AAA-8AAA-111111111111"
        #expect(await link("add", "account_token", token, "anna") == 0)
        #expect(transcript.output.contains("1 link read, 1 written"))
        #expect(await link("add", "account-token", token.lowercased(), "anna") == 0)
        #expect(transcript.output.contains("1 link read, 0 written"))
        #expect(await run("link", "list", "--key", token, "--json") == 0)
        let row =
            #"{"user":"anna","kind":"account_token","key":"\#(token.lowercased())","#
            + #""environment":null,"bundle":null}"#
        #expect(transcript.output.hasSuffix(row + "\n"))

        #expect(await link("remove", "account_token", token) == 0)
        #expect(transcript.output.hasSuffix("1 link read, 1 removed\n"))
    }

    @Test func `a link is taken from another user with --move alone, and each act stands in the history`() async throws
    {
        #expect(await run("migrate") == 0)
        let key = ["original_transaction_id", "1"]
        #expect(await run(["link", "add"] + key + ["anna"]) == 64)
        #expect(transcript.notes.contains("--by is required"))
        #expect(await link(["add"] + key + ["anna"]) == 0)
        #expect(transcript.output.contains("nobody -> anna: original_transaction_id 1, 0 known purchases"))
        let path = try file("original_transaction_id,2,bob\noriginal_transaction_id,1,bob\n")
        #expect(await link("add", "--from", path) == 1)
        #expect(transcript.notes.contains("1 link would be taken from another user; --move if that is meant"))
        #expect(transcript.notes.contains("anna -> bob: original_transaction_id 1"))
        #expect(await run("link", "list", "--user", "bob") == 1, "nothing of the batch is written")
        let many = try file(
            (10..<2_010).map { "original_transaction_id,\($0),eva\n" }.joined() + "original_transaction_id,1,eva\n")
        #expect(await link("add", "--from", many) == 1)
        #expect(transcript.notes.contains("the 2,000 links before are written"))
        #expect(await link("add", "--from", path, "--move") == 0)
        #expect(await link(["remove"] + key) == 0)
        #expect(await run("link", "list", "--history", "--key", "1", "--json") == 0)
        let acts = transcript.output.split(separator: "\n").suffix(3)
        let users = [#""from":"bob","to":null"#, #""from":"anna","to":"bob""#, #""from":null,"to":"anna""#]
        #expect(zip(acts, users).allSatisfy { $0.contains($1) && $0.contains(#""by":"otto""#) }, "\(acts)")
        #expect(await run("forget", "bob", "--by", "dpo", "--reason", "r") == 0)
        #expect(await run("link", "list", "--history", "--user", "bob") == 1)
    }

    @Test func `a file of links is written in one go, a doubled key by its last line`() async throws {
        #expect(await run("migrate") == 0)
        let lines = (1...3_000).map { "original_transaction_id,\($0),user-\($0)" }
        let token = "9f0c11ab-1111-4aaa-8aaa-111111111111"
        // Begins with the mark that spreadsheets write.
        let path = try file(
            "\u{FEFF}kind,key,user\n" + lines.joined(separator: "\n")
                + "\naccount_token,\(token.uppercased()),a\naccount_token,\(token),b\n")
        #expect(await link("add", "--from", path, "--json") == 0)
        #expect(transcript.output.contains("{\"links\":3002,\"written\":3001,\"changes\":["))
        #expect(await run("link", "list", "--user", "b") == 0)
        #expect(transcript.output.hasSuffix("b     account_token  \(token)  any          any\n"))
        #expect(await link("remove", "--from", path) == 0)
        #expect(transcript.output.hasSuffix("3,002 links read, 3,001 removed\n"))
    }

    @Test func `environment and app of the options count for lines that name none`() async throws {
        #expect(await run("migrate") == 0)
        let path = try file("original_transaction_id,1,anna\noriginal_transaction_id,2,anna,Production,com.b\n")
        let sandbox = ["--from", path, "--environment", "Sandbox", "--bundle", "com.a"]
        #expect(await link("add", "original_transaction_id", "1", "anna") == 0)
        #expect(await link(["add"] + sandbox) == 0)
        #expect(await run("link", "list", "--json") == 0)
        let rows = transcript.output.split(separator: "\n").suffix(3)
        let scopes = [
            #""key":"1","environment":null,"bundle":null}"#, #""key":"1","environment":"Sandbox","bundle":"com.a"}"#,
            #""key":"2","environment":"Production","bundle":"com.b"}"#,
        ]
        #expect(zip(rows, scopes).allSatisfy { $0.hasSuffix($1) }, "\(rows)")

        #expect(await link(["remove"] + sandbox) == 0)
        #expect(transcript.output.hasSuffix("2 links read, 2 removed\n"))
        #expect(await run("link", "list", "--json") == 0)
        #expect(transcript.output.hasSuffix("removed\n\(rows.first ?? "")\n"))
        #expect(await link("add", "--from", path, "--environment", "Prod") == 64)
        #expect(await link("add", "--from", path, "--bundle", " ") == 64)
    }

    @Test func `a line that is no link is named, and nothing of its batch is written`() async throws {
        #expect(await run("migrate") == 0)
        let path = try file("app_transaction_id,1,x\n\nnonsense,b,y\n")
        #expect(await link("add", "--from", path) == 65)
        #expect(transcript.notes.contains("\(path):3: expected a kind"))
        #expect(await run("link", "list") == 1)
        #expect(!transcript.output.contains("app_transaction_id"))
    }

    @Test func `a key that can be in no purchase is named with its line`() async throws {
        #expect(await run("migrate") == 0)
        let path = try file("original_transaction_id,1,x\noriginal_transaction_id,2.00000E+15,y\n")
        #expect(await link("add", "--from", path) == 65)
        #expect(transcript.notes.contains("\(path):2: expected an ID"))
        #expect(await link("add", "account_token", "{9F0C}", "anna") == 64)
        // A row that came into the table in another way could be removed.
        #expect(await link("remove", "account_token", "{9F0C}") == 1)
    }

    @Test func `operands that do not fit end with 64`() async {
        #expect(await link("add", "account_token", "a") == 64)
        #expect(await link("remove", "account_token") == 64)
        #expect(await link("add", "token", "a", "b") == 64)
        #expect(await link("add", "account_token", "a", "b", "--from", "-") == 64)
        #expect(await run("link") == 64)
        #expect(transcript.notes.contains("pipeline link is one of:"))
    }
}
