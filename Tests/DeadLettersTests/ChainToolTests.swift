import AppStore
import Commands
import Foundation
import JSON
import Kafka
import KitWrappers
import OpenSSL
import Records
import Settings
import Testing
import Topology

@testable import DeadLetters
@testable import Worker

/// `verify`, `export` and `anchor` as an auditor runs them, on a topic with the real protocol.
@Suite struct ChainToolTests {
    private static let topic = "storekit.dead-letter"

    /// A cluster with two chains of three letters, all committed by the worker.
    final class Rig {
        let cluster: MockCluster
        let folder: String
        let producer: KafkaProducer
        private(set) var head: SHA256Digest?
        private var refused: Int64 = 0

        init() async throws {
            cluster = try MockCluster()
            for name in ["raw", "verified", "unique", "linked"] {
                try cluster.createTopic("storekit.\(name)", partitions: 4)
            }
            try cluster.createTopic(topic, partitions: 2)
            producer = try KafkaProducer(configuration: ["bootstrap.servers": cluster.bootstrapServers])
            folder = NSTemporaryDirectory() + "chain-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }

        func write(_ records: [ProducerRecord]) async throws {
            let report = await producer.send(records)
            try #require(report.isComplete)
        }

        /// A letter of partition 3.
        static func letter(_ offset: Int64, after head: SHA256Digest?) -> (record: ProducerRecord, digest: SHA256Digest)
        {
            var letter = DeadLetterWriter(Sample.context()).letter(
                for: Sample.original(offset: offset, value: Array("body \(offset)".utf8)), Sample.refusal,
                value: .original, after: head)
            letter.record.partition = 1
            return (letter.record, letter.digest)
        }

        /// Writes letters of partition 3, and verify-worker's commit.
        func writeChain(_ offsets: [Int64]) async throws {
            let letters = offsets.map { offset in
                let letter = Self.letter(offset, after: head)
                head = letter.digest
                return letter.record
            }
            try await write(letters)
            refused += Int64(offsets.count)
            let end = (offsets.last ?? -1) + 1
            let tally = StageTally(began: 0, counts: [.deadLettered: refused, .forwarded: end - refused])
            try await commit(OffsetCommit(offset: end, metadata: CommitMetadata(tally: tally, chainHead: head).text))
        }

        private func commit(_ commit: OffsetCommit) async throws {
            let consumer = try KafkaConsumer(configuration: [
                "bootstrap.servers": cluster.bootstrapServers, "group.id": "entitlements.verify",
            ])
            let source = TopicPartition(topic: "storekit.raw", partition: 3)
            try await consumer.assign(with: [source: 0])
            let outcome = await consumer.commit([source: commit], deadline: .seconds(10))
            try #require(outcome.failures.isEmpty)
            await consumer.close(deadline: .seconds(2))
        }

        /// The settings of a command that is run against this cluster.
        func context() throws -> ToolContext {
            let options = ["--kafka", cluster.bootstrapServers]
            let arguments = try VerifyChainsCommand.syntax.parse(options)
            let context = CommandContext(console: .standard, environment: [:])
            return try ToolContext(arguments, context)
        }

        func run(_ arguments: String...) async -> ToolRun {
            await ToolRun(arguments + ["--kafka", cluster.bootstrapServers])
        }

        func end() async {
            await producer.close(deadline: .seconds(5))
            cluster.stop()
            try? FileManager.default.removeItem(atPath: folder)
        }
    }

    static func withRig(_ body: (Rig) async throws -> Void) async throws {
        let rig = try await Rig()
        do { try await body(rig) } catch {
            await rig.end()
            throw error
        }
        await rig.end()
    }

    @Test func `verify shows every chain and finds nothing if all is well`() async throws {
        try await Self.withRig { rig in
            try await rig.writeChain([2, 5, 9])
            let run = await rig.run("verify")
            #expect(run.exitCode == 0, "\(run.notes)")
            #expect(run.result.contains("verify of storekit.raw/3"))
            #expect(run.result.contains("nothing is missing, altered or inserted"))
            let json = await rig.run("verify", "--json")
            let root = try JSONDocument(parsing: json.bytes).root
            #expect(root["is_intact"]?.bool == true)
            #expect(root["chains"]?.elements.map { $0["letters"]?.int64 } == [3])
        }
    }

    @Test func `verify names letters of a stranger`() async throws {
        try await Self.withRig { rig in
            try await rig.writeChain([2, 5, 9])
            let forged = DeadLetterWriter(Sample.context()).letter(
                for: Sample.original(offset: 7, value: [1]), Sample.refusal, value: .original, after: nil)
            try await rig.write([forged.record, ProducerRecord(topic: Self.topic, partition: 0, value: [0x1B])])
            let run = await rig.run("verify")
            #expect(run.exitCode == 1)
            #expect(run.notes.contains("fork: storekit.dead-letter/"))
            #expect(run.notes.contains("foreign: storekit.dead-letter/0/"))
        }
    }

    @Test func `a resumed walk reads only new letters, and once a day the whole topic`() async throws {
        try await Self.withRig { rig in
            let progress = ChainProgress(try rig.context())
            let begun = ContinuousClock.now
            try await rig.writeChain([2, 5, 9])
            let first = try await progress.read(begun)
            #expect(first.report.isIntact && first.summary.records == 3)
            try await rig.writeChain([10, 13])
            let second = try await progress.read(begun + .seconds(900))
            #expect(second.report.isIntact && second.summary.records == 2)
            #expect(second.report.chains.map(\.letters) == [5])
            let forged = DeadLetterWriter(Sample.context()).letter(
                for: Sample.original(offset: 7, value: [1]), Sample.refusal, value: .original)
            try await rig.write([forged])
            for (seconds, records) in [(1_800, 1), (2_700, 0), (86_400, 6), (87_300, 0)] {
                let reading = try await progress.read(begun + .seconds(seconds))
                #expect(reading.report.findings.map(\.kind) == ["fork"])
                #expect(reading.summary.records == records, "after \(seconds) s")
            }
        }
    }

    @Test func `an export proves itself with its files alone`() async throws {
        try await Self.withRig { rig in
            try await rig.writeChain([2, 5, 9])
            for extra in [["--with-originals", "--why=backup"], []] {
                let folder = rig.folder + "/export\(extra.count)"
                let export = await ToolRun(["export", "--to", folder, "--kafka", rig.cluster.bootstrapServers] + extra)
                #expect(export.exitCode == 0, "\(export.notes)")
                #expect(export.result.contains("3 dead letters"))
                let manifest = folder + "/manifest.json"
                let intact = await ToolRun(["verify", "--offline", manifest])
                #expect(intact.exitCode == 0, "\(intact.notes)")
                let lines = try String(contentsOfFile: folder + "/dead-letters.ndjson", encoding: .utf8)
                let body = Data("body 5".utf8).base64EncodedString()
                #expect(lines.contains(body) == !extra.isEmpty)
                let again = await ToolRun(["export", "--to", folder, "--kafka", rig.cluster.bootstrapServers])
                #expect(again.exitCode == 64)
            }
        }
    }

    /// Exports a chain of three letters, changes a file of the export, and verifies it offline.
    private static func verifyingExport(
        _ name: String, _ change: (inout String) -> Void, _ check: (_ run: ToolRun, _ file: String) -> Void
    ) async throws {
        try await withRig { rig in
            try await rig.writeChain([2, 5, 9])
            let folder = rig.folder + "/export"
            let export = await rig.run("export", "--to", folder, "--with-originals", "--why=backup")
            #expect(export.exitCode == 0, "\(export.notes)")
            let file = "\(folder)/\(name)"
            var text = try String(contentsOfFile: file, encoding: .utf8)
            change(&text)
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            check(await ToolRun(["verify", "--offline", folder + "/manifest.json"]), file)
        }
    }

    @Test(arguments: ["altered", "deleted", "reordered", "truncated"]) func `a tampered export is named`(how: String)
        async throws
    {
        try await Self.verifyingExport("dead-letters.ndjson") { text in
            var lines = text.split(separator: "\n").map(String.init)
            switch how {
            case "altered":
                lines[1] = lines[1].replacingOccurrences(
                    of: Data("body 5".utf8).base64EncodedString(), with: Data("body 6".utf8).base64EncodedString())
            case "deleted": lines.remove(at: 1)
            case "reordered": lines.swapAt(0, 1)
            default: lines.removeLast()
            }
            text = lines.joined(separator: "\n") + "\n"
        } _: { run, _ in
            #expect(run.exitCode == 1)
            #expect(run.notes.contains("is not what was exported"))
            let named = ["altered": "altered: storekit", "truncated": "missing:"][how]
            if let named { #expect(run.notes.contains(named), "\(run.notes)") }
            let line = [
                "altered": "storekit.dead-letter/1/1 is line 2", "deleted": "storekit.dead-letter/1/2 is line 2",
            ][how]
            if let line { #expect(run.notes.contains(line), "\(run.notes)") }
        }
    }

    @Test(arguments: [
        ("cut", "line 2: it is cut off after 40 bytes"), ("emptied", "line 2: it is empty"),
        ("no JSON", "line 2: it is not JSON: unexpected_byte at byte 0"),
        ("no object", "line 2: it is not a JSON object"), ("no partition", "line 2: it has no \"partition\""),
        ("large partition", "line 2: it has a \"partition\" that is not a number of 32 bits"),
        ("broken value", "line 2: it has a \"value\" that is not base64"),
        ("broken header", "line 2: it has a header, number 1, that has no \"name\""),
    ]) func `a damaged line of an export is named, with what is wrong`(how: String, message: String) async throws {
        try await Self.verifyingExport("dead-letters.ndjson") { text in
            var lines = text.split(separator: "\n").map(String.init)
            let whole = lines[1]
            lines[1] =
                switch how {
                case "cut": String(whole.prefix(40))
                case "emptied": ""
                case "no JSON": "x" + whole
                case "no object": "[]"
                case "no partition": whole.replacing("\"partition\"", with: "\"part\"")
                case "large partition": whole.replacing("\"partition\":1", with: "\"partition\":4294967296")
                case "broken value": whole.replacing("\"value\":\"", with: "\"value\":\"*", maxReplacements: 1)
                default: whole.replacing("\"headers\":[", with: "\"headers\":[{},")
                }
            text = lines.joined(separator: "\n") + "\n"
        } _: { run, file in
            #expect(run.exitCode == 65)
            #expect(run.notes.contains("\(file), \(message)"), "\(run.notes)")
        }
    }

    @Test(arguments: [
        ("cut", "it is cut off after 40 bytes"),
        ("other", "it has a \"format\" that is not \"entitlement-pipeline export 2\""),
        ("no digest", "it has no \"sha256\""), ("long digest", "it has a \"sha256\" that is not a SHA-256"),
        ("no link", "it has a chain, number 1, that has no \"last\""),
    ]) func `a damaged manifest is named, with what is wrong`(how: String, message: String) async throws {
        try await Self.verifyingExport("manifest.json") { text in
            text =
                switch how {
                case "cut": String(text.prefix(40))
                case "other": text.replacing("export 2\"", with: "export 1\"")
                case "no digest": text.replacing("\"sha256\"", with: "\"sha\"")
                case "long digest": text.replacing("\"sha256\":\"", with: "\"sha256\":\"0")
                default: text.replacing("\"last\"", with: "\"end\"")
                }
        } _: { run, file in
            #expect(run.exitCode == 65)
            #expect(run.notes.contains("\(file): \(message)"), "\(run.notes)")
        }
    }

    @Test func `an anchor shows later that letters are gone`() async throws {
        try await Self.withRig { rig in
            try await rig.writeChain([2, 5, 9])
            let anchor = await rig.run("anchor")
            #expect(anchor.exitCode == 0, "\(anchor.notes)")
            let file = rig.folder + "/anchor.json"
            try Data(anchor.bytes).write(to: URL(fileURLWithPath: file))
            let same = await rig.run("verify", "--anchor", file)
            #expect(same.exitCode == 0, "\(same.notes)")
        }
        try await Self.withRig { rig in
            // Another cluster with a consistent chain of its own.
            try await rig.writeChain([2, 5, 8])
            let file = rig.folder + "/anchor.json"
            let links = [
                ChainName(stage: "verify", topic: "storekit.raw", partition: 3): ChainAnchor.Link(
                    digest: SHA256.digest(Array("what was there".utf8)), partition: 1, offset: 2, letters: 3)
            ]
            let anchor = ChainAnchor(takenAt: Timestamp(milliseconds: 0), cluster: "c", topic: Self.topic, links: links)
            try Data(anchor.json.bytes).write(to: URL(fileURLWithPath: file))
            let run = await rig.run("verify", "--anchor", file)
            #expect(run.exitCode == 1)
            #expect(run.notes.contains("the anchored link"))
            let broken = rig.folder + "/broken.json"
            try Data("{}".utf8).write(to: URL(fileURLWithPath: broken))
            #expect(await rig.run("verify", "--anchor", broken).exitCode == 65)
            #expect(await rig.run("verify", "--anchor", rig.folder + "/no").exitCode == 66)
        }
    }
}
