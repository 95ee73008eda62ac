import AppStore
import Foundation
import Kafka
import OpenSSL
import Records
import TestSupport
import Testing

@testable import DeadLetters

/// Every way to tamper with a chain is named, and nothing that a worker does by itself.
@Suite struct ChainTests {
    /// Letters of one source partition, each linked to the one before it, in the topic's order.
    struct Chain {
        var records: [ConsumerRecord] = []
        private(set) var head: SHA256Digest?
        var committed: Int64 = 0

        static let name = ChainName(stage: "verify", topic: "storekit.raw", partition: 3)

        init(_ offsets: [Int64]) { for offset in offsets { append(offset) } }

        @discardableResult mutating func append(
            _ sourceOffset: Int64, after previous: SHA256Digest?? = nil, reason: RefusalReason = .signatureInvalid,
            worker: String = "verify-7d9f", isCounted: Bool = true
        ) -> SHA256Digest {
            let value = Array("body \(sourceOffset)".utf8)
            let letter = DeadLetterWriter(Sample.context(worker: worker)).letter(
                for: Sample.original(offset: sourceOffset, value: value), Refusal(reason: reason, detail: "no"),
                value: .original, after: previous ?? head)
            records.append(Self.record(letter.record, at: Int64(records.count)))
            if isCounted {
                head = letter.digest
                committed = sourceOffset + 1
            }
            return letter.digest
        }

        /// The records, renumbered from an offset on.
        func lying(from start: Int64 = 0) -> [ConsumerRecord] {
            records.enumerated().map { index, record in Self.renumbered(record, start + Int64(index)) }
        }

        func report(_ change: (inout ChainEvidence) -> Void = { _ in }, from start: Int64 = 0) throws -> ChainReport {
            var verifier = ChainVerifier(topic: "storekit.dead-letter")
            for record in lying(from: start) {
                if let letter = try? DeadLetter(decoding: record) {
                    verifier.add(letter, record)
                } else {
                    verifier.add(foreign: record)
                }
            }
            var evidence = ChainEvidence()
            evidence.starts = [0: start]
            change(&evidence)
            return verifier.report(evidence)
        }

        /// The report with the group's commit.
        func reportWithHead(counted: Int64, from start: Int64 = 0) throws -> ChainReport {
            try report({ $0.heads[Self.name] = head(counted: counted) }, from: start)
        }

        func head(counted: Int64) -> ChainHead {
            ChainHead(digest: head, counted: counted, offset: committed, records: committed)
        }

        private static func record(_ record: ProducerRecord, at offset: Int64) -> ConsumerRecord {
            ConsumerRecord(record, at: offset, timestampMilliseconds: 1_767_225_600_000 + offset)
        }

        private static func renumbered(_ record: ConsumerRecord, _ offset: Int64) -> ConsumerRecord {
            changed(record, offset: offset)
        }
    }

    static func changed(
        _ record: ConsumerRecord, offset: Int64? = nil, value: [UInt8]?? = nil, key: [UInt8]?? = nil,
        headers: [KafkaHeader]? = nil
    ) -> ConsumerRecord {
        ConsumerRecord(
            topicPartition: record.topicPartition, offset: offset ?? record.offset,
            timestampMilliseconds: record.timestampMilliseconds, key: key ?? record.key, value: value ?? record.value,
            headers: headers ?? record.headers)
    }

    static func kinds(_ report: ChainReport) -> [String] { report.findings.map(\.kind) }

    @Test("an unchanged chain has no finding") func intact() throws {
        let chain = Chain([3, 5, 8, 13])
        let report = try chain.reportWithHead(counted: 4)
        #expect(report.findings.isEmpty)
        let summary = try #require(report.chains.first)
        #expect(summary.letters == 4)
        #expect(summary.first?.sourceOffset == 3)
        #expect(summary.last?.digest == chain.head)
        #expect(!summary.isCut)
    }

    @Test(
        "an altered letter is named with its position", arguments: ["value", "key", "reason", "source", "own header"])
    func altered(what: String) throws {
        var chain = Chain([3, 5, 8])
        let record = chain.records[1]
        func replacing(_ name: String, _ text: String) -> [KafkaHeader] {
            record.headers.map { $0.name == name ? KafkaHeader(name: name, text: text) : $0 }
        }
        switch what {
        case "value": chain.records[1] = Self.changed(record, value: .some([1]))
        case "key": chain.records[1] = Self.changed(record, key: .some([1]))
        case "reason": chain.records[1] = Self.changed(record, headers: replacing("dlq.reason", "bundle_mismatch"))
        case "source":
            chain.records[1] = Self.changed(
                record, headers: replacing("dlq.source.sha256", String(repeating: "a", count: 64)))
        default:
            chain.records[1] = Self.changed(
                record, headers: [KafkaHeader(name: "user-id", text: "mallory")] + record.headers)
        }
        let report = try chain.reportWithHead(counted: 3)
        guard case .altered(let position, Chain.name, _)? = report.findings.first else {
            Issue.record("\(report.findings)")
            return
        }
        #expect(position.offset == 1)
    }

    @Test("a deleted letter is named by its neighbours") func deleted() throws {
        var chain = Chain([3, 5, 8, 13])
        chain.records.remove(at: 2)
        let report = try chain.reportWithHead(counted: 4)
        let after = RecordPosition(topic: "storekit.dead-letter", partition: 0, offset: 1)
        let before = RecordPosition(topic: "storekit.dead-letter", partition: 0, offset: 2)
        #expect(report.findings.first == .missing(Chain.name, after: after, before: before))
    }

    @Test("an inserted letter with a link that fits is named as a fork") func inserted() throws {
        var chain = Chain([3, 5])
        let fork = chain.head
        chain.append(8)
        chain.append(6, after: .some(fork), isCounted: false)
        let report = try chain.reportWithHead(counted: 3)
        #expect(Self.kinds(report) == ["fork"])
        #expect(report.findings.first?.description.contains("/0/3") == true)
    }

    @Test("a letter inserted after the last one is named too") func appended() throws {
        var chain = Chain([3, 5, 8])
        chain.append(6, isCounted: false)
        let report = try chain.reportWithHead(counted: 3)
        #expect(Self.kinds(report) == ["fork"])
    }

    @Test("letters in another order are named") func reordered() throws {
        var chain = Chain([3, 5, 8, 13])
        chain.records.swapAt(1, 2)
        let report = try chain.reportWithHead(counted: 4)
        #expect(Self.kinds(report).contains("reordered"))
    }

    @Test("a chain without its end is named by the group's commit") func endTruncated() throws {
        var chain = Chain([3, 5, 8, 13])
        chain.records.removeLast(2)
        let report = try chain.reportWithHead(counted: 4)
        guard case .endMissing(Chain.name, let digest, let last?)? = report.findings.first else {
            Issue.record("\(report.findings)")
            return
        }
        #expect(digest == chain.head)
        #expect(last.offset == 1)
    }

    @Test("a chain without any letter is named if retention has cut nothing") func allDeleted() throws {
        var chain = Chain([3, 5])
        chain.records = []
        #expect(Self.kinds(try chain.reportWithHead(counted: 2)) == ["missing"])
    }

    @Test("a chain without its beginning is named unless retention has cut the log") func beginningTruncated() throws {
        var chain = Chain([3, 5, 8, 13])
        chain.records.removeFirst(2)
        let cut = try chain.reportWithHead(counted: 4, from: 2)
        #expect(cut.findings.isEmpty)
        #expect(cut.chains.first?.isCut == true)
        #expect(cut.notes.contains { $0.contains("first 2 letters") })
        let deleted = try chain.reportWithHead(counted: 4)
        #expect(deleted.findings.count == 1)
        guard case .missing(Chain.name, nil, _)? = deleted.findings.first else {
            Issue.record("\(deleted.findings)")
            return
        }
    }

    @Test("retention explains no gap in the middle") func cutAndDeleted() throws {
        var chain = Chain([3, 5, 8, 13, 21])
        chain.records.remove(at: 3)
        chain.records.removeFirst()
        let report = try chain.reportWithHead(counted: 5, from: 7)
        #expect(Self.kinds(report) == ["missing"])
    }

    @Test("a consistent forgery of a whole chain is shown by an anchor alone") func replaced() throws {
        let genuine = Chain([3, 5, 8])
        let last = try #require(try genuine.report().chains.first?.last)
        var forged = Chain([])
        for offset: Int64 in [3, 5, 8] { forged.append(offset, reason: .bundleMismatch) }
        #expect(try forged.reportWithHead(counted: 3).findings.isEmpty)
        let anchored = try forged.report { evidence in
            evidence.anchors[Chain.name] = ChainAnchor.Link(
                digest: last.digest, partition: last.partition, offset: last.offset, letters: 3)
        }
        #expect(Self.kinds(anchored) == ["anchor_missing"])
    }
}

/// Traces that workers leave by themselves.
extension ChainTests {
    @Test("letters that a crash has written twice are copies of the same links") func repeated() throws {
        var chain = Chain([3, 5, 8])
        chain.records += chain.records.dropFirst()
        chain.records.append(chain.records[0])
        let report = try chain.reportWithHead(counted: 3)
        #expect(report.findings.isEmpty)
        #expect(report.chains.first?.repeated == 3)
    }

    @Test("if a reason changed with the settings, the letter that the chain continues from counts") func superseded()
        throws
    {
        var chain = Chain([3])
        chain.append(5, reason: .bundleMismatch, isCounted: false)
        chain.append(5, reason: .environmentMismatch)
        chain.append(8)
        let report = try chain.reportWithHead(counted: 3)
        #expect(report.findings.isEmpty)
        #expect(report.chains.first?.superseded == 1)
    }

    @Test("uncommitted letters are no finding") func uncommitted() throws {
        var chain = Chain([3, 5])
        let behind = chain.append(8, isCounted: false)
        chain.append(13, after: .some(behind), isCounted: false)
        let report = try chain.reportWithHead(counted: 2)
        #expect(report.findings.isEmpty)
        #expect(report.chains.first?.uncommitted == 2)
    }

    @Test("a chain that begins a second time is named, and both pieces are walked") func begunAnew() throws {
        var chain = Chain([3, 5])
        chain.append(8, after: .some(nil))
        chain.append(13)
        let report = try chain.reportWithHead(counted: 2)
        #expect(Self.kinds(report) == ["restarted"])
        #expect(report.chains.first?.letters == 4)
    }

    @Test("a letter without a link and a foreign record are named") func foreign() throws {
        var chain = Chain([3])
        let record = chain.records[0]
        let unlinked = Self.changed(record, headers: record.headers.filter { $0.name != "dlq.chain.sha256" })
        chain.records.append(unlinked)
        chain.records.append(Self.changed(record, headers: []))
        let report = try chain.reportWithHead(counted: 1)
        #expect(Self.kinds(report).sorted() == ["foreign", "unchained"])
    }

    @Test("a link is a function of its record and its worker, not of the clock") func deterministic() throws {
        let original = Sample.original(offset: 7)
        func link(
            _ worker: String = "verify-1", _ value: DeadLetterValue = .original, after previous: SHA256Digest? = nil
        ) throws -> DeadLetterLink {
            let letter = DeadLetterWriter(Sample.context(worker: worker)).letter(
                for: original, Sample.refusal, value: value, after: previous)
            let link = try #require(DeadLetterLink(reading: letter.record.headers))
            #expect(link.digest == letter.digest)
            return link
        }
        let first = try link()
        #expect(try link() == first)
        // A zombie's letter has the same contents and is no link of the chain.
        #expect(try link("verify-2").contents == first.contents)
        #expect(try link("verify-2").digest != first.digest)
        #expect(try link("verify-1", .omitted).contents != first.contents)
        let later = try link(after: SHA256.digest(Array("other".utf8)))
        #expect(later.contents == first.contents && later.digest != first.digest)
    }

    @Test("a redacted letter keeps its position, and nothing of the original") func redacted() throws {
        var chain = Chain([3, 5, 8])
        let removed = DeadLetterRedaction.record(
            of: chain.records[1], by: "dpo", why: "request 7", at: Timestamp(milliseconds: 1_767_225_700_000))
        chain.records.append(
            ConsumerRecord(
                topicPartition: chain.records[1].topicPartition, offset: 3, timestampMilliseconds: 1_767_225_700_000,
                key: removed.key, value: removed.value, headers: removed.headers))
        let letter = try DeadLetter(decoding: chain.records[3])
        for recorded: Set<String>? in [nil, [], [letter.id]] {
            let report = try chain.report { evidence in
                evidence.redactions = recorded
                evidence.heads[Chain.name] = chain.head(counted: 3)
            }
            #expect(Self.kinds(report) == (recorded == [] ? ["redaction"] : []))
            #expect(report.notes.isEmpty == (recorded != nil))
            #expect(report.chains.first?.repeated == 1)
        }
        #expect(letter.value == .redacted)
        #expect(letter.id == (try DeadLetter(decoding: chain.records[1])).id)
        #expect(removed.key == nil && removed.value == nil)
        #expect(removed.partition == 0)
        let names = removed.headers.map(\.name)
        #expect(names.allSatisfy { $0.hasPrefix("dlq.") && !$0.hasPrefix("dlq.unverified.") })
        #expect(names.contains("dlq.redacted.by"))
        #expect(names.count { $0 == "dlq.value" } == 1)
    }
}
