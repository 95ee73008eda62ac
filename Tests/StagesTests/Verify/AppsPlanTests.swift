import AppStore
import Commands
import Foundation
import JSON
import Kafka
import OpenSSL
import Operations
import Records
import Simulation
import TestSupport
import Testing
import Topology
import Worker

/// `pipeline plan --apps` on what a `verify-worker` has read and refused.
@Suite(.timeLimit(.minutes(10))) struct AppsPlanTests {
    private static let authority = Result { try CertificateAuthority(name: "Planned") }
    private static let next = "com.example.next"

    /// The JSON of an entry of `apps`; without another root, the root is the test's own.
    private static func app(_ bundleID: String, _ environment: String = "Production", in folder: String) -> String {
        let test = environment == "Production" ? #", "test_root_in_production": true"# : ""
        return #"{"bundle_id": "\#(bundleID)", "environment": "\#(environment)", "app_apple_id": 1234567890,"#
            + #" "roots": ["\#(folder)/root.pem"]\#(test)}"#
    }

    private static func body(_ id: Int, bundleID: String = VerifyRig.bundleID, environment: String = "Production")
        throws -> [UInt8]
    {
        var fields = TransactionFields()
        fields.transactionID = "\(id)"
        fields.bundleID = bundleID
        fields.environment = environment
        return try authority.get().sign(fields.json)
    }

    /// A worker that accepts one app in Production.
    private static func rig() async throws -> VerifyRig {
        try await VerifyRig(
            apps: { folder in "[\(app(VerifyRig.bundleID, in: folder))]" }, extra: #""breaker": {"armed_max": "1s"},"#,
            files: ["root.pem": Array(authority.get().rootPEM.utf8)])
    }

    private struct End {
        let code: Int32
        let output: String
        let notes: String

        func json() throws -> JSONValue { try JSONDocument(parsing: Array(output.utf8)).root }
    }

    /// Plans these apps with the settings of the worker.
    private static func plan(_ apps: String, _ rig: VerifyRig, _ options: String...) async throws -> End {
        try rig.replace("planned.json", Array(apps.utf8))
        return await run(["--apps", rig.path("planned.json"), "--config", rig.path("settings.json")] + options)
    }

    private static func run(_ options: [String], _ environment: [String: String] = [:]) async -> End {
        let transcript = ConsoleTranscript()
        let arguments = ["plan"] + options
        let code = await PipelineTool.tool.run(arguments, environment, on: transcript)
        PublishedSchema.expect("pipeline", arguments, transcript.output.utf8)
        return End(code: code, output: transcript.output, notes: transcript.notes)
    }

    /// The rows of a list, each as its values.
    private static func rows(_ list: JSONValue?) -> [String] {
        list?.elements.map { row in
            row.members.map { $1.string ?? String(decoding: $1.rawBytes, as: UTF8.self) }.joined(separator: " ")
        } ?? []
    }

    @Test func `another app's bodies would be accepted, the removed app's refused, and each counts once`() async throws
    {
        let rig = try await Self.rig()
        let bodies = try (1...3).map { try Self.body($0) } + (4...7).map { try Self.body($0, bundleID: Self.next) }
        try await rig.publish(bodies + [Array("{".utf8), Array("eyJ".utf8)])
        await eventually { rig.settled(.forwarded) == 3 && rig.settled(.deadLettered) == 6 }
        let planned = #"{"apps": [\#(Self.app(Self.next, in: rig.folder.path))]}"#
        let plan = try await Self.plan(planned, rig, "--json", "--samples", "2").json()
        #expect(plan["bodies"]?.int64 == 9 && plan["raw"]?.int64 == 3 && plan["dead_letters"]?.int64 == 6)
        #expect(plan["accepted"]?.int64 == 4 && plan["refused"]?.int64 == 3)
        #expect(
            Self.rows(plan["changes"]) == [
                "accepted bundle_mismatch com.example.pro Production 3",
                "bundle_mismatch accepted com.example.next Production 4",
            ])
        #expect(Self.rows(plan["recorded"]).isEmpty && Self.rows(plan["unverified"]).isEmpty)
        let samples = Self.rows(plan["samples"])
        #expect(samples.count == 4)
        #expect(samples.contains("\(rig.prefix)raw/0/0 null accepted bundle_mismatch"), "\(samples)")
        for (limit, code) in [("3", 1), ("4", 0)] as [(String, Int32)] {
            let end = try await Self.plan(planned, rig, "--fail-if-refused", limit)
            #expect(end.code == code, "\(end.notes)")
            #expect(end.output.contains("accepted now, would be refused: 3"), "\(end.output)")
            #expect(!end.output.contains("eyJ"))
        }
        try await rig.stop()
    }

    @Test func `the same apps change nothing, and another environment is a change of its own`() async throws {
        let rig = try await Self.rig()
        try await rig.publish([Self.body(1), Self.body(2, environment: "Sandbox")])
        await eventually { rig.settled(.forwarded) == 1 && rig.settled(.deadLettered) == 1 }
        let present = Self.app(VerifyRig.bundleID, in: rig.folder.path)
        let same = try await Self.plan("[\(present)]", rig, "--json", "--fail-if-refused", "1")
        #expect(try same.code == 0 && Self.rows(same.json()["changes"]).isEmpty)
        let both = "[\(present), \(Self.app(VerifyRig.bundleID, "Sandbox", in: rig.folder.path))]"
        let plan = try await Self.plan(both, rig, "--json", "--fail-if-refused", "1")
        #expect(plan.code == 0)
        #expect(try Self.rows(plan.json()["changes"]) == ["environment_mismatch accepted com.example.pro Sandbox 1"])
        try await rig.stop()
    }

    @Test func `letters without their body, and those of bodies that raw lacks, count by what is there`() async throws {
        let rig = try await Self.rig()
        let bodies = try (1...2).map { try Self.body($0, bundleID: Self.next) }
        try await rig.publish(bodies)
        await eventually { rig.settled(.deadLettered) == 2 }
        let held = try await rig.letters()
        // Each of the worker's letters is followed by another copy of it, of which the first counts.
        let repeated = held.map { rig.letter(of: $0, value: $0.value, headers: $0.headers) }
        let gone = try (11...15).map { id in
            ConsumerRecord(
                topicPartition: TopicPartition(topic: rig.prefix + "raw", partition: 0), offset: Int64(id),
                value: try Self.body(id, bundleID: Self.next))
        }
        let refusal = Refusal(reason: .bundleMismatch, detail: "no app of this bundle ID is configured")
        var letters = gone.enumerated().map { index, record in
            rig.writer.letter(for: record, refusal, value: index == 1 ? .omitted : .original, after: nil).record
        }
        letters[2].value = try Self.body(99, bundleID: Self.next)
        try await rig.send(repeated + letters)
        let written = try await rig.letters()
        // An auditor has the original of one removed.
        let redacted = try #require(written.first { $0.offset == Int64(held.count + repeated.count + 3) })
        try await rig.send([
            DeadLetterRedaction.record(of: redacted, by: "kim", why: "case 7", at: Timestamp(milliseconds: 1))
        ])
        let planned = "[\(Self.app(Self.next, in: rig.folder.path))]"
        let plan = try await Self.plan(planned, rig, "--json").json()
        // Two of the worker, the whole one, and the last.
        #expect(plan["bodies"]?.int64 == 4 && plan["dead_letters"]?.int64 == 4 && plan["accepted"]?.int64 == 4)
        #expect(Self.rows(plan["unverified"]) == ["omitted 1", "redacted 1", "altered 1"])
        #expect(Self.rows(plan["samples"]).count == 4)
        try await rig.stop()
    }

    @Test func `the body of a letter without it is taken from raw, and a reason of the past is named`() async throws {
        let rig = try await Self.rig()
        try await rig.publish([Self.body(1)])
        await eventually { rig.settled(.forwarded) == 1 }
        let body = try #require(try await rig.records("raw").first)
        let refusal = Refusal(reason: .bundleMismatch, detail: "no app of this bundle ID is configured")
        try await rig.send([rig.writer.letter(for: body, refusal, value: .omitted, after: nil).record])
        let plan = try await Self.plan("[\(Self.app(Self.next, in: rig.folder.path))]", rig, "--json").json()
        #expect(plan["bodies"]?.int64 == 1 && plan["raw"]?.int64 == 1 && plan["refused"]?.int64 == 1)
        #expect(Self.rows(plan["recorded"]) == ["bundle_mismatch accepted 1"])
        #expect(Self.rows(plan["unverified"]).isEmpty)
        try await rig.stop()
    }

    @Test(.needsSharedData) func `a genuine notification of Apple's is planned by Apple's own root`() async throws {
        let rig = try await Self.rig()
        try await rig.publish([SharedData.vector("jws/imdhemy-test-notification-signed-payload.json")])
        await eventually { rig.settled(.deadLettered) == 1 }
        for (environment, verdict) in [("Sandbox", "accepted"), ("Production", "environment_mismatch")] {
            let apps = #"[{"bundle_id": "com.Abilities", "environment": "\#(environment)", "app_apple_id": 1}]"#
            let plan = try await Self.plan(apps, rig, "--json").json()
            let change = try #require(Self.rows(plan["changes"]).first)
            #expect(change.hasPrefix("bundle_mismatch \(verdict) "), "\(change)")
        }
        try await rig.stop()
    }

    @Test func `what cannot be planned is named, and an empty topic passes no check`() async throws {
        let rig = try await Self.rig()
        let apps = "[\(Self.app(Self.next, in: rig.folder.path))]"
        let empty = try await Self.plan(apps, rig, "--fail-if-refused", "1")
        #expect(empty.code == 1 && empty.notes.contains("Kafka holds no body"), "\(empty)")
        let wrong: [(apps: String, code: Int32, says: String)] = [
            ("[", 65, "line 1"), ("{}", 65, "the list apps"), (#"{"apps": 1}"#, 65, "the list apps"),
            ("[]", 78, "apps"), (#"[{"bundle_id": "a", "environment": "Prod"}]"#, 78, "there is no such environment"),
        ]
        for (apps, code, says) in wrong {
            let end = try await Self.plan(apps, rig)
            #expect(end.code == code && end.notes.contains(says), "\(apps): \(end)")
        }
        let path = rig.path("planned.json")
        try rig.replace("planned.json", Array(apps.utf8))
        let settings = rig.path("settings.json")
        let commands: [(options: [String], code: Int32, says: String)] = [
            (["--apps", rig.path("none.json"), "--config", settings], 66, "none.json"),
            (["--apps", path], 78, "required"),
            (["--apps", path, "--config", settings, "--prefix", "other."], 69, "there is no topic other.raw"),
            (["--apps", path, "--config", settings, "--user", "anna"], 64, "--user does not go with --apps"),
            (["--apps", path, "--facts"], 64, "--facts does not go with --apps"),
            (["--catalog", path, "--fail-if-refused", "1"], 64, "--fail-if-refused goes with --apps"),
        ]
        for (options, code, says) in commands {
            let end = await Self.run(options)
            #expect(end.code == code && end.notes.contains(says), "\(options): \(end)")
        }
        let gone = await Self.run(["--apps", path, "--config", settings], ["KAFKA_BOOTSTRAP": "127.0.0.1:1"])
        #expect(gone.code == 69 && gone.notes.contains("no answer from Kafka at 127.0.0.1:1"), "\(gone)")
        try await rig.stop()
    }
}

extension VerifyRig {
    fileprivate func path(_ file: String) -> String { folder.appending(path: file).path }

    fileprivate var writer: DeadLetterWriter {
        DeadLetterWriter(
            DeadLetterContext(
                cluster: "cluster-1", topic: prefix + "dead-letter", stage: "verify", readsObservations: false,
                worker: "verify-1", verifierVersion: "1.0.0", configuration: SHA256.digest(Array("settings".utf8))))
    }

    fileprivate func letter(of record: ConsumerRecord, value: [UInt8]?, headers: [KafkaHeader]) -> ProducerRecord {
        ProducerRecord(topic: prefix + "dead-letter", partition: 0, key: record.key, value: value, headers: headers)
    }

    fileprivate func letters() async throws -> [ConsumerRecord] { try await records("dead-letter") }

    fileprivate func records(_ topic: String) async throws -> [ConsumerRecord] {
        let partition = TopicPartition(topic: prefix + topic, partition: 0)
        let marks = try await KafkaAdmin.with(cluster.client) { admin in
            try await admin.listOffsets([partition], deadline: .hopeless)
        }
        var found: [ConsumerRecord] = []
        try await TopicScan.with(cluster.client) { scan in
            try await scan.read(marks.mapValues { $0.low..<$0.high }) { found += $0 }
        }
        return found
    }
}
