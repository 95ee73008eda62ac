import Commands
import Foundation
import KitWrappers
import Operations
import Postgres
import Simulation
import TestSupport
import Testing
import Topology

@Suite struct ImportCommandTests {
    private let options: PostgresOptions

    init() async throws {
        options = try await PostgresServer.shared.migratedDatabase()
        _ = try await query(
            """
            INSERT INTO recovery_windows (environment, bundle_id, job)
            VALUES ('Production', 'com.example.app', 'complete'), ('Sandbox', 'com.example.app', 'complete')
            """)
    }

    private func query(_ sql: String) async throws -> [String] {
        try await PostgresConnection.lend(options) { connection in try await connection.query(sql).map { $0.text(0) } }
    }

    private func file(_ bytes: [UInt8]) throws -> String {
        let path = FileManager.default.temporaryDirectory.appending(path: "import-\(UUID().uuidString).csv")
        try Data(bytes).write(to: path)
        return path.path
    }

    /// Imports a table.
    private func run(_ table: String, _ options: String...) async throws -> (code: Int32, text: String) {
        try await run(bytes: Array(table.utf8), options)
    }

    private func run(bytes: [UInt8], _ options: [String] = []) async throws -> (code: Int32, text: String) {
        let path = try file(bytes)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return await run([path, "--by=otto", "--reason=moving"] + options)
    }

    private func run(_ arguments: [String]) async -> (code: Int32, text: String) {
        let transcript = ConsoleTranscript()
        let code = await PipelineTool.tool.run(
            ["import"] + arguments, ["DATABASE_URL": options.connectionString], on: transcript)
        return (code, transcript.output + transcript.notes)
    }

    private func links() async throws -> [String] {
        try await query("SELECT concat_ws(' ', key, environment, user_id) FROM account_links ORDER BY key, environment")
    }

    @Test func `RevenueCat's export needs no names, and other stores are passed over`() async throws {
        let table = """
            rc_original_app_user_id;rc_last_seen_app_user_id_alias;store;is_sandbox;store_transaction_id;\
            original_store_transaction_id;custom_subscriber_attributes
            $RCAnonymousID:1;anna;app_store;false;11;1;"{""a"":
            ""b;c""}"
            ben;$RCAnonymousID:2;app_store;true;22;2;
            $RCAnonymousID:3;$RCAnonymousID:3;app_store;false;33;3;
            dora;dora;play_store;false;GPA.1;GPA.1;
            anna;anna;app_store;false;12;1;\r

            """
        let answer = try await run(table)
        #expect(answer.code == 0, "\(answer.text)")
        #expect(answer.text.contains("4 lines read, 2 links written, 3 customers to ask Apple about"))
        #expect(answer.text.contains("1 line without a user\n1 line of other stores passed over"))
        #expect(try await links() == ["1 Production anna", "2 Sandbox ben"])
        let asked = try await query(
            "SELECT concat_ws(' ', subject, kind, environment) FROM recovery_requests ORDER BY subject, kind")
        #expect(
            asked == [
                "1 refunds Production", "1 transactions Production", "2 refunds Sandbox", "2 transactions Sandbox",
                "3 refunds Production", "3 transactions Production",
            ])
        let again = try await run(table)
        #expect(again.text.contains("4 lines read, 0 links written, 0 customers"), "\(again.text)")
        #expect(try await query("SELECT acted_by || reason FROM account_link_acts").allSatisfy { $0 == "ottomoving" })
        let unknown = try await run(table, "--bundle=com.example.nope")
        #expect(unknown.code == 1 && unknown.text.contains("4 lines passed over: recovery-worker does not ask"))
    }

    @Test func `only what Apple did not know or refused is asked again, and the report has each state`() async throws {
        let table = "user,original_transaction_id\nanna,1\nben,2\n,3\ndora,4\n"
        #expect(try await run(table).code == 0)
        _ = try await query(
            """
            UPDATE recovery_requests SET finished_at = now(),
                result = CASE subject WHEN '1' THEN 'not_found' WHEN '2' THEN 'refused' ELSE 'done' END,
                published_count = 1
            WHERE subject <> '4' RETURNING subject
            """)
        let report = await run(["--status", "--limit=2"])
        #expect(report.code == 1)
        #expect(
            report.text.contains("4 customers: 0 whole, 2 waiting, 1 missing, 1 refused, 0 without user"),
            "\(report.text)")
        #expect(report.text.contains("missing  1") && report.text.contains("refused  2"), "\(report.text)")
        #expect(try await run(table).text.contains("2 customers to ask Apple about"))
        #expect(try await query("SELECT DISTINCT subject FROM recovery_requests WHERE finished_at IS NULL").count == 3)
        let transcript = ConsoleTranscript()
        let environment = ["DATABASE_URL": options.connectionString]
        #expect(await PipelineTool.tool.run(["import", "--status", "--json"], environment, on: transcript) == 1)
        PublishedSchema.expect("pipeline", ["import"], transcript.output.utf8)
    }

    @Test func `what another user has stays theirs unless it is moved`() async throws {
        _ = try await query(
            """
            INSERT INTO account_links (kind, environment, bundle_id, key, user_id)
            VALUES ('original_transaction_id', '', '', '1', 'eva') RETURNING key
            """)
        let table = "user,original_transaction_id\nanna,1\nben,2\ndora,2\n"
        let answer = try await run(table)
        #expect(answer.code == 1)
        #expect(answer.text.contains("left to eva: original_transaction_id 1, imported for anna"), "\(answer.text)")
        #expect(answer.text.contains("left to ben: original_transaction_id 2, imported for dora"), "\(answer.text)")
        #expect(try await links() == ["1  eva", "2 Production ben"])
        #expect(try await run(table, "--move").code == 0)
        #expect(try await links() == ["1  eva", "1 Production anna", "2 Production dora"])
    }

    @Test func `texts that look equal are two users`() async throws {
        let answer = try await run("user,original_transaction_id\n\u{E9},1\ne\u{301},1\n")
        #expect(answer.code == 1 && answer.text.contains("1 link left to other users"), "\(answer.text)")
        #expect(try await query("SELECT octet_length(user_id)::text FROM account_links") == ["2"])
    }

    @Test func `a token without a purchase is linked in any spelling, for every app`() async throws {
        let token = "7E3F2A10-52C0-4F53-9AB5-1FD1C1B0C6AA"
        #expect(try await run("who,token\nanna,\(token)\n", "--columns=user=who,account_token=token").code == 0)
        #expect(try await links() == ["\(token.lowercased())  anna"])
        #expect(try await query("SELECT subject FROM recovery_requests").isEmpty)
        // Ben has the purchase that Anna bought with her token.
        #expect(try await run("user,original_transaction_id,account_token\nben,1,\(token)\n").code == 0)
        #expect(try await links() == ["1 Production ben", "\(token.lowercased())  anna"])
    }

    @Test func `a body is published, and the purchase in it is linked and asked about`() async throws {
        let cluster = try MockCluster()
        defer { cluster.stop() }
        for plan in TopicLayout().plans { try cluster.createTopic(plan.name, partitions: 1) }
        func segment(_ text: String) -> String { Data(text.utf8).base64EncodedString().replacing("=", with: "") }
        let jws = segment(#"{"alg":"ES256"}"#) + "." + segment(#"{"originalTransactionId":"77"}"#) + ".AAAA"
        let path = try file(Array("user,jws\nanna,\(jws)\n,no body\n".utf8))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let transcript = ConsoleTranscript()
        let environment = ["DATABASE_URL": options.connectionString, "KAFKA_BOOTSTRAP": cluster.bootstrapServers]
        let arguments = ["import", path, "--by=otto", "--reason=moving"]
        #expect(await PipelineTool.tool.run(arguments, environment, on: transcript) == 65)
        #expect(transcript.notes.contains(":3: expected a signed transaction or a receipt as body"))
        var fields = ReceiptFields()
        fields.records = [ReceiptRecordFields()]
        fields.records[0].transactionID = "79"
        fields.records[0].originalTransactionID = "78"
        let receipt = try CertificateAuthority(.receipts(name: "Test")).receiptText(fields)
        try Data("user,jws\nanna,\(jws)\nben,\(String(decoding: receipt, as: UTF8.self))\n".utf8).write(
            to: URL(filePath: path))
        #expect(await PipelineTool.tool.run(arguments, environment, on: transcript) == 0, "\(transcript.notes)")
        #expect(
            transcript.output.contains("2 customers to ask Apple about, 2 bodies published"), "\(transcript.output)")
        #expect(try await links() == ["77 Production anna", "78 Production ben"])
    }

    @Test func `an outage of the brokers asks nothing, and the next run publishes and asks`() async throws {
        let cluster = try MockCluster()
        defer { cluster.stop() }
        for plan in TopicLayout().plans { try cluster.createTopic(plan.name, partitions: 1) }
        var fields = ReceiptFields()
        fields.records = (0..<150).map { number in
            var record = ReceiptRecordFields()
            record.transactionID = "\(200 + number)"
            record.originalTransactionID = number < 120 ? "7" : "8"
            return record
        }
        let receipt = try CertificateAuthority(.receipts(name: "Test")).receiptText(fields)
        // Lines of 76 characters, as many encoders write base64.
        let lines = stride(from: 0, to: receipt.count, by: 76).map {
            String(decoding: receipt[$0..<min($0 + 76, receipt.count)], as: UTF8.self)
        }.joined(separator: "\n")
        let path = try file(Array("user,receipt\nanna,\"\(lines)\"\n".utf8))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let environment = ["DATABASE_URL": options.connectionString, "KAFKA_BOOTSTRAP": cluster.bootstrapServers]
        func run() async -> (code: Int32, text: String) {
            let transcript = ConsoleTranscript()
            let arguments = ["import", path, "--by=otto", "--reason=moving"]
            let code = await PipelineTool.tool.run(arguments, environment, on: transcript)
            return (code, transcript.output + transcript.notes)
        }
        try cluster.fail(.produce, with: Array(repeating: .clusterAuthorizationFailed, count: 20))
        let failed = await run()
        #expect(failed.code == 69 && failed.text.contains(":2: not published"), "\(failed.text)")
        #expect(try await links() == ["7 Production anna", "8 Production anna"])
        #expect(try await query("SELECT subject FROM recovery_requests").isEmpty)
        try cluster.clearFailures(.produce)
        let repeated = await run()
        #expect(repeated.code == 0, "\(repeated.text)")
        #expect(repeated.text.contains("0 links written, 2 customers to ask Apple about, 1 body published"))
    }

    @Test func `a link that somebody else writes at the same moment stays theirs`() async throws {
        let path = try file(Array("user,original_transaction_id\nanna,1\n".utf8))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await PostgresConnection.lend(options) { other in
            _ = try await other.query("BEGIN")
            _ = try await other.query(
                """
                INSERT INTO account_links (kind, environment, bundle_id, key, user_id)
                VALUES ('original_transaction_id', 'Production', 'com.example.app', '1', 'eva')
                """)
            async let answer = run([path, "--by=otto", "--reason=moving"])
            try await eventually {
                try await self.query(
                    """
                    SELECT query FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock'
                    """
                ).count == 1
            }
            _ = try await other.query("COMMIT")
            let (code, text) = await answer
            #expect(code == 1 && text.contains("left to eva: original_transaction_id 1, imported for anna"), "\(text)")
        }
        #expect(try await links() == ["1 Production eva"])
    }

    @Test(arguments: [
        ("user,original_transaction_id\na,1\nb,2.0E+15\n", ":3: expected an ID of digits"),
        ("user,original_transaction_id\na,1\n\nb,1,2\n", ":4: expected 2 fields as in line 1, found 3"),
        ("user,original_transaction_id\na,\u{0}1\n", ":2: expected a text without NUL"),
        ("user,original_transaction_id\n\"a,1\nb,2\n", ":2: expected a closing quotation mark"),
        ("user,original_transaction_id\n\"a\"b,1\n", ":2: expected a separator after a quoted field"),
        ("user,original_transaction_id\na,\n", ":2: expected an original transaction ID, an account token or a body"),
        ("user,original_transaction_id,environment\na,1,Prod\n", ":2: expected one of Production"),
        ("user,original_transaction_id,sandbox\na,1,maybe\n", ":2: expected true or false as sandbox"),
        ("user,original_transaction_id\na\u{202E},1\n", ":2: expected for the user"),
        ("user,purchase\na,1\n", ":1: expected a column original_transaction_id, account_token or body"),
        ("", ":1: expected a column"),
    ]) func `a wrong line is named`(table: String, message: String) async throws {
        let answer = try await run(table)
        #expect(answer.code == 65 && answer.text.contains(message), "\(answer.text)")
    }

    @Test func `a line without an end and bytes that are no text are refused`() async throws {
        let head = Array("user,original_transaction_id\n".utf8)
        let long = try await run(bytes: head + Array(repeating: UInt8(ascii: "a"), count: 5 << 20))
        #expect(long.code == 65 && long.text.contains(":2: the line is too long"), "\(long.text)")
        let quoted = try await run(bytes: head + Array(("\"" + String(repeating: "a\n", count: 2_000)).utf8))
        #expect(quoted.code == 65 && quoted.text.contains(":2: expected a closing quotation mark"), "\(quoted.text)")
        let bytes = try await run(bytes: head + [0xFF, 0x2C, 0x31, 0x0A])
        #expect(bytes.code == 65 && bytes.text.contains(":2: expected UTF-8"), "\(bytes.text)")
        #expect(try await links().isEmpty)
    }

    @Test func `ten thousand lines are imported in batches, and again without a change`() async throws {
        var table = "user,original_transaction_id\n"
        for number in 1...10_000 { table += "user-\(number),\(2_000_000_000_000_000 + number)\n" }
        for number in 1...100 { table += "user-\(number),\(2_000_000_000_000_000 + number)\n" }
        let answer = try await run(table)
        #expect(answer.text.contains("10,100 lines read, 10,000 links written, 10,000 customers"), "\(answer.text)")
        let again = try await run(table)
        #expect(again.text.contains("10,100 lines read, 0 links written, 0 customers"), "\(again.text)")
        #expect(await run(["--status"]).text.contains("10,000 customers: 0 whole, 10,000 waiting"))
    }
}
