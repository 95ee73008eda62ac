import AppStore
import DeadLetters
import Foundation
import JSON
import Kafka
import OpenSSL
import Postgres
import Records
import Simulation
import Store
import Synchronization
import TestSupport
import Testing

/// The auditors' commands over topic and index, as they are typed.
@Suite(.timeLimit(.minutes(10))) struct AuditCommandTests {
    private static let account = "7e3fb204-2af7-4a1b-9a25-5c0c1bd1d1d1"

    /// A topic with thirty letters, six of them genuine transactions of a foreign authority.
    private static func rig() async throws -> IndexRig {
        let rig = try await IndexRig()
        let authority = try CertificateAuthority(name: "Somebody")
        let jws = try authority.sign(
            Array(#"{"transactionId":"7","appAccountToken":"\#(account)","signedDate":1}"#.utf8))
        let letters = (0..<6).map { number in
            rig.writer().letter(
                for: Sample.original(
                    offset: 100 + Int64(number), value: Body.transaction(jws),
                    headers: [KafkaHeader(name: "user-id", text: "user-4711")]),
                Refusal(reason: .rootUntrusted, detail: "no configured root has issued it"), value: .original)
        }
        try await rig.send(rig.letters(0..<24) + letters)
        try await rig.index()
        return rig
    }

    @Test func `groups, counts and lists are answered by the index`() async throws {
        let rig = try await Self.rig()
        let groups = await rig.tool("groups", "--json")
        let lines = groups.result.split(separator: "\n")
        #expect(groups.exitCode == 0, "\(groups.notes)")
        #expect(lines.count == 2)
        let first = try JSONDocument(parsing: Array((lines.first ?? "").utf8)).root
        #expect(first["letters"]?.int64 == 24)
        #expect(first["open"]?.int64 == 24)
        #expect(first["reason"]?.string == "signature_invalid")
        let group = try #require(first["group"]?.string)
        let list = await rig.tool("list", "--group", group, "--json", "-n100")
        #expect(list.result.split(separator: "\n").count == 24)
        let table = await rig.tool("groups").result
        #expect(table.contains("grows 24 ← 0") && table.contains("trend, 6 h"), "\(table)")
        for by in ["bundle", "certificate", "worker", "state", "hour", "day", "stage", "class"] {
            let run = await rig.tool("count", "--by", by)
            #expect(run.exitCode == 0 && run.result.contains("total"), "\(by): \(run.notes)")
        }
        let byState = await rig.tool("count", "--by=state", "--json")
        #expect(byState.result.contains(#""open":30"#))
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).prom")
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(await rig.tool("count", "--metrics", file.path).exitCode == 0)
        let metrics = try String(contentsOf: file, encoding: .utf8)
        #expect(metrics.contains("\nentitlements_dead_letter_open_records{class=\"forged\"} 30\n"))
        #expect(metrics.contains("\nentitlements_dead_letter_open_records{class=\"stale\"} 0\n"))
        #expect(await rig.tool("count", "--metrics=a.prom", "--state=open").exitCode == 64)
    }

    @Test func `a decision is recorded with who and why, and asks if it is for many`() async throws {
        let rig = try await Self.rig()
        // Not one of those suppressed below: letters of one instant come in any order.
        var query = DeadLetterQuery()
        query.reasons = ["signature_invalid"]
        let row = try #require(try await DeadLetterTable.page(query, limit: 1, on: rig.client).first)
        #expect(await rig.tool("resolve", row.id).exitCode == 64)
        #expect(await rig.tool("resolve", "--why=x").exitCode == 64)
        #expect(await rig.tool("resolve", "ffffffffffff", "--why=x").exitCode == 1)
        let one = await rig.tool("resolve", String(row.id.prefix(12)), "--why", "seen", "--as=eve")
        #expect(one.exitCode == 0 && one.result == "1 of 1 dead letters resolved\n", "\(one.notes)")
        let again = await rig.tool("resolve", row.id, "--why=seen", "--json")
        #expect(again.result == #"{"action":"resolved","changed":0,"found":1}"# + "\n")
        let asked = await rig.tool("suppress", "--reason=root_untrusted", "--why=test root")
        #expect(asked.exitCode == 1)
        #expect(asked.notes.contains("6 dead letters would be suppressed"))
        let done = await rig.tool("suppress", "--reason=root_untrusted", "--why=test root", "--yes", "--json")
        #expect(done.result == #"{"action":"suppressed","changed":6,"found":6}"# + "\n")
        #expect(await rig.tool("list", "--state=open", "--json").notes.hasPrefix("23 of 23"))
        _ = await rig.tool("reopen", row.id, "--why=again", "--json")
        let history = try await DeadLetterActionTable.newest(limit: 9, on: rig.client).filter {
            $0.deadLetterID == row.id
        }
        #expect(history.map(\.kind) == [.reopened, .resolved])
        #expect(history.map(\.who) == ["anna", "eve"])
        let shown = await rig.tool("show", row.id)
        #expect(shown.result.contains("state: open\n"))
        #expect(shown.result.contains("action: resolved\n    who: eve\n") && shown.result.contains("why: seen\n"))
    }

    @Test func `show names the rule and the certificates, and records before it reveals`() async throws {
        let rig = try await Self.rig()
        var query = DeadLetterQuery()
        query.reasons = ["root_untrusted"]
        let row = try #require(try await DeadLetterTable.page(query, limit: 1, on: rig.client).first)
        let shown = await rig.tool("show", row.id)
        #expect(shown.exitCode == 0, "\(shown.notes)")
        for text in [
            "rule: ", "pinned roots", "subject: ", "Somebody", "serial: ", "signs App Store data",
            "wrong: it is not Apple Root CA - G3", "user-id: <9 bytes hidden>",
            "also wrong: it was not valid at the date", "state: open\n",
        ] { #expect(shown.result.contains(text), "\(text)") }
        let json = await rig.tool("show", row.id, "--json")
        for run in [shown, json] {
            #expect(!run.result.contains(Self.account))
            #expect(!run.result.contains("user-4711"))
        }
        let root = try JSONDocument(parsing: Array(json.result.utf8.dropLast())).root
        #expect(root["original"]?.isNull == true)
        #expect(root["decoded"]?.count == 1)
        #expect(root["certificates"]?.count == 1)
        #expect(try await DeadLetterActionTable.newest(limit: 9, on: rig.client).isEmpty)

        for option in ["--reveal", "--original"] {
            let unsaid = await rig.tool("show", row.id, option)
            #expect(unsaid.exitCode == 64 && unsaid.notes.contains("say why"), "\(unsaid.notes)")
        }
        let revealed = await rig.tool("show", row.id, "--reveal", "--why=case 7", "--as=eve")
        #expect(revealed.result.contains(Self.account) && revealed.result.contains("user-4711"))
        let original = await rig.tool("show", row.id, "--original", "--why=case 7")
        #expect(!original.bytes.isEmpty)
        let actions = try await DeadLetterActionTable.newest(limit: 9, on: rig.client)
        #expect(actions.map(\.kind) == [.revealed, .revealed])
        #expect(actions.map(\.who) == ["anna", "eve"])
        #expect(actions.allSatisfy { $0.deadLetterID == row.id && $0.why == "case 7" })
        // Nothing is shown if it cannot be recorded.
        _ = try await rig.client.query("ALTER TABLE dead_letter_actions RENAME TO gone")
        let refused = await rig.tool("show", row.id, "--reveal", "--why=case 7")
        #expect(refused.exitCode != 0)
        #expect(!refused.result.contains(Self.account))
    }

    @Test func `an export hands out originals only for a reason, recorded before`() async throws {
        let rig = try await Self.rig()
        let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func export(_ name: String, _ options: String...) async throws -> (ToolRun, String) {
            let run = await rig.tool(["export", "--to", "\(folder)/\(name)"] + options)
            let file = "\(folder)/\(name)/dead-letters.ndjson"
            return (run, (try? String(contentsOfFile: file, encoding: .utf8)) ?? "")
        }
        let original = #""original":true"#
        let (without, lines) = try await export("without")
        #expect(!lines.isEmpty && !lines.contains(original), "\(without.notes)")
        #expect(try await DeadLetterActionTable.newest(limit: 9, on: rig.client).isEmpty)
        #expect(try await export("unsaid", "--with-originals").0.exitCode == 64)
        let wanted = ["--with-originals", "--why=case 7", "--as=eve", "--since=7d"]
        let (whole, all) = try await export("whole", wanted[0], wanted[1], wanted[2], wanted[3])
        #expect(all.contains(original), "\(whole.notes)")
        let actions = try await DeadLetterActionTable.newest(limit: 9, on: rig.client)
        #expect(actions.map(\.kind) == [.exported] && actions.first?.why == "case 7")
        #expect(actions.first?.who == "eve" && actions.first?.detail == "since 7d")
        // Nothing is handed out if it cannot be recorded.
        _ = try await rig.client.query("ALTER TABLE dead_letter_actions RENAME COLUMN who TO gone")
        let (refused, none) = try await export("refused", wanted[0], wanted[1])
        #expect(refused.exitCode != 0 && none.isEmpty)
    }

    @Test func `show prints JSON of a broken JWS, of any history, and of a history alone`() async throws {
        let rig = try await IndexRig()
        let original = Sample.original(value: Array("eyJhbGciOiJFUzI1NiJ9.!.x".utf8))
        let letter = rig.writer().letter(for: original, Sample.refusal, value: .original)
        try await rig.send([letter])
        try await rig.index()
        let id = try #require(letter.text(DeadLetterHeader.id))
        #expect(await rig.tool("resolve", id, "--why=seen").exitCode == 0)
        #expect(await rig.tool("show", id, "--reveal", "--why=case 7").exitCode == 0)
        let shown = await rig.tool("show", id, "--json")
        #expect(shown.exitCode == 0, "\(shown.notes)")
        #expect(shown.result.contains(#""payload":null"#), "\(shown.result)")
        let gone = String(repeating: "f", count: id.count)
        let who = try #require(AuditorName("eve"))
        let revealed = NewDeadLetterAction(who: who, kind: .replayed, deadLetterID: gone)
        try await DeadLetterActionTable.append([revealed], on: rig.client)
        let remains = await rig.tool("show", gone, "--json")
        #expect(remains.exitCode == 1 && remains.result.contains(#""why":null"#))
    }

    @Test func `search finds any identifier, and says if none matches`() async throws {
        let rig = try await Self.rig()
        let found = await rig.tool("search", "storekit.raw/3/7", "--json")
        #expect(found.result.split(separator: "\n").count == 1)
        #expect(await rig.tool("search", "4711").exitCode == 1)
        let leaf = Sample.refusal.chain[0].fingerprint.hex
        #expect(await rig.tool("search", String(leaf.prefix(8)), "--json").result.split(separator: "\n").count == 24)
    }

    @Test func `tail shows the newest last, and new ones as they arrive`() async throws {
        let rig = try await Self.rig()
        let newest = await rig.tool("tail", "-n", "3", "--json")
        #expect(newest.result.split(separator: "\n").count == 3)
        let topic = rig.topic
        let ends = try await topic.watermarks().mapValues(\.high)
        let followed = Mutex(0)
        let task = Task {
            try await topic.follow(from: ends) { record in
                if DeadLetterRow(record) != nil { followed.withLock { $0 += 1 } }
            }
        }
        try await rig.send(rig.letters(200..<210))
        await eventually { followed.withLock { $0 == 10 } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `commands that need the index say so without one`() async {
        for arguments in [
            ["list"], ["count"], ["groups"], ["search", "x"], ["resolve", "--why=x", "-bx", "--as=eve"],
        ] {
            let run = await ToolRun(arguments)
            #expect(run.exitCode == 78)
            #expect(run.notes.contains("DATABASE_URL"))
        }
        #expect(await ToolRun(["tail", "--state=open"]).exitCode == 64)
    }

    @Test func `a command that found nothing ends with 1`() async throws {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<3))
        for isIndexed in [false, true] {
            if isIndexed { try await rig.index() }
            for command in isIndexed ? ["list", "tail", "count"] : ["tail"] {
                #expect(await rig.tool(command).exitCode == 0)
                let none = await rig.tool(command, "--reason=receipt_malformed")
                #expect(none.exitCode == 1, "\(command) \(none.notes)")
            }
        }
        #expect(await rig.tool("groups").exitCode == 0)
        #expect(await rig.tool("groups", "--reason=receipt_malformed").exitCode == 1)
        #expect(await rig.tool("search", "nothing").exitCode == 1)
        #expect(await rig.tool("replays").exitCode == 1)
        for (command, text) in [
            (["list", "--product=nope"], "0 of 0 dead letters"), (["count", "--bundle=nope"], "total 0"),
            (["groups", "--environment=Prod"], "0 groups"), (["show", "ffffffffffff"], "no dead letter ffffffffffff"),
            (["resolve", "--product=nope", "--why=x"], "0 of 0 dead letters resolved"),
            (["replay", "--product=nope"], "letters: 0"),
        ] {
            let none = await rig.tool(command)
            let words = (none.result + none.notes).split { $0 == " " || $0 == "\n" }.joined(separator: " ")
            #expect(none.exitCode == 1 && words.contains(text), "\(command) \(words)")
        }
        // A letter that is resolved already is found.
        for (reason, code) in [("receipt_malformed", 1), ("signature_invalid", 0), ("signature_invalid", 0)]
            as [(String, Int32)]
        {
            let resolved = await rig.tool("resolve", "--why=x", "--as=eve", "--yes", "--reason=\(reason)")
            #expect(resolved.exitCode == code, "\(reason) \(resolved.notes)")
        }
    }

    @Test func `count shows the spans of time without letters too`() async throws {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<4))
        try await rig.index()
        let hours = await rig.tool("count", "--by=hour", "--since=3h", "--json")
        let json = try JSONDocument(parsing: Array(hours.result.utf8.dropLast())).root
        let counts = json["counts"].map { $0.members.map { $0.value.int64 ?? -1 } } ?? []
        #expect(counts.count == 4 && counts.reduce(0, +) == 4 && counts.first == 0, "\(hours.result)")
        let days = await rig.tool("count", "--by=day", "--since=2d").result.split(separator: "\n")
        #expect(days.count == 5, "a title, three days and the total")
        #expect(days[1].contains(/^\d{4}-\d\d-\d\d +0$/), "\(days)")
        let years = await rig.tool("count", "--by=hour", "--since=2000-01-01").result
        #expect(years.split(separator: "\n").count <= 4, "no table of 200,000 hours")
    }

    @Test func `without a run of the index the commands on it say so, and tail reads the topic`() async throws {
        let rig = try await IndexRig()
        #expect(await rig.tool("list").notes.hasPrefix("0 of 0 dead letters"))
        try await rig.send(rig.letters(0..<3))
        for arguments in [["list"], ["count"], ["groups"], ["search", "x"]] {
            let run = await rig.tool(arguments)
            #expect(run.exitCode == 69 && run.result.isEmpty)
            #expect(run.notes.contains("nothing of \(rig.topic.name) is indexed"), "\(run.notes)")
        }
        let tail = await rig.tool("tail")
        #expect(tail.exitCode == 0 && tail.result.contains("signature_invalid"))
        #expect(tail.notes.contains("has never run for \(rig.topic.name)"), "\(tail.notes)")
        try await rig.index()
        let notes = await rig.tool("list").notes
        #expect(notes.hasPrefix("3 of 3 dead letters, as of ") && notes.hasSuffix(", all read\n"))
    }
}
