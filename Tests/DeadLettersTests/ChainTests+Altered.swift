import AppStore
import Kafka
import OpenSSL
import Records
import Testing

@testable import DeadLetters

/// Every header that a tool shows is covered by the link.
@Suite struct AlteredLetterTests {
    private typealias Chain = ChainTests.Chain

    /// A letter with every header that a stage may add, and its record.
    private static func letter() throws -> ConsumerRecord {
        var refusal = Sample.refusal
        refusal = Refusal(
            reason: refusal.reason, detail: refusal.detail, chain: refusal.chain,
            unverified: UnverifiedIdentifiers(try Observation(Sample.original(Sample.observation()))))
        let letter = DeadLetterWriter(Sample.context(stage: "dedupe", recordBytesMax: 3_000)).letter(
            for: Sample.original(
                key: [UInt8](repeating: 7, count: 3_000), value: try Sample.observation().value,
                headers: try Sample.observation().headers), refusal, value: .original, after: nil)
        return Sample.consumed(letter.record)
    }

    private static func changed(_ record: ConsumerRecord, _ headers: [KafkaHeader]) -> ConsumerRecord {
        ChainTests.changed(record, offset: 1, headers: headers)
    }

    /// The walk's report on two records of one chain with the first committed.
    private static func report(_ records: [ConsumerRecord], redactions: Set<String> = []) throws -> ChainReport {
        var verifier = ChainVerifier(topic: "storekit.dead-letter")
        for record in records { verifier.add(try DeadLetter(decoding: record), record) }
        let first = try #require(ChainLetter(try DeadLetter(decoding: records[0]), records[0]))
        var evidence = ChainEvidence()
        evidence.redactions = redactions
        evidence.heads[first.chain] = ChainHead(
            digest: DeadLetterLink(reading: records[0].headers)?.digest, counted: 1, offset: first.sourceOffset + 1,
            records: 1)
        var report = verifier.report(evidence)
        report.compare(Dictionary(uniqueKeysWithValues: records.map { (RecordPosition($0), $0) }))
        return report
    }

    @Test func `each header of an altered copy is named`() throws {
        let genuine = try Self.letter()
        let added = genuine.headers.filter { $0.name.hasPrefix("dlq.") }
        #expect(added.count >= 25)
        #expect(try Self.report([genuine]).findings.isEmpty)
        for header in added {
            let text = String(decoding: header.value ?? [], as: UTF8.self)
            let value =
                switch header.name {
                case DeadLetterHeader.value: text == "omitted" ? "original" : "omitted"
                case DeadLetterHeader.previous, DeadLetterHeader.chainSHA256: SHA256.digest([1]).hex
                default: text.first == "7" ? "8" : "7"
                }
            let headers = genuine.headers.map {
                $0.name == header.name ? KafkaHeader(name: header.name, text: value) : $0
            }
            let report = try Self.report([genuine, Self.changed(genuine, headers)])
            let named = report.findings.contains { finding in
                guard case .altered(let position, _, let how) = finding else { return false }
                let isLink = ["dlq.prev", "dlq.chain.sha256"].contains(header.name)
                return position.offset == 1 && (isLink || how.original == nil || how.differences == [header.name])
            }
            #expect(named, "\(header.name): \(report.findings)")
            // An unknown or repeated header is as bad.
            for added in [header.name, "dlq.later"] {
                let headers = genuine.headers + [KafkaHeader(name: added, text: value)]
                let report = try Self.report([genuine, Self.changed(genuine, headers)])
                #expect(!report.isIntact, "\(added) added")
            }
        }
    }

    @Test func `a consistent copy with other contents is named with its differences`() throws {
        var chain = Chain([3, 5, 8])
        chain.append(5, after: .some(nil), reason: .bundleMismatch, isCounted: false)
        var report = try chain.reportWithHead(counted: 3)
        report.compare(Dictionary(uniqueKeysWithValues: chain.lying().map { (RecordPosition($0), $0) }))
        guard case .altered(let position, Chain.name, let how)? = report.findings.first else {
            Issue.record("\(report.findings)")
            return
        }
        #expect(position.offset == 3 && how.original?.offset == 1 && how.problem == nil)
        #expect(how.differences == ["dlq.class", "dlq.reason"])
        #expect(report.findings.count == 1)
        #expect(report.findings[0].description.contains("what differs: dlq.class, dlq.reason"))
    }

    @Test func `a copy by another worker is a copy, before the counting one and after it`() throws {
        var chain = Chain([3])
        chain.append(5, worker: "verify-crashed", isCounted: false)
        chain.append(5)
        let head = chain.head
        chain.append(8)
        chain.append(8, after: .some(head), worker: "verify-zombie", isCounted: false)
        let report = try chain.reportWithHead(counted: 3)
        #expect(report.findings.isEmpty)
        #expect(report.chains.first?.repeated == 2)
        #expect(report.chains.first?.superseded == 0)
    }

    @Test func `nothing vouches for uncommitted letters, nor for letters before a gap`() throws {
        var chain = Chain([3, 5, 8, 13])
        chain.append(21, isCounted: false)
        func vouchedFor() throws -> [Int64] {
            var verifier = ChainVerifier(topic: "storekit.dead-letter", recentMax: nil)
            for record in chain.lying() { verifier.add(try DeadLetter(decoding: record), record) }
            var evidence = ChainEvidence()
            evidence.heads[Chain.name] = chain.head(counted: 4)
            return verifier.vouchedFor(evidence).values.map(\.sourceOffset).sorted()
        }
        #expect(try vouchedFor() == [3, 5, 8, 13])
        let whole = chain.records
        chain.records.remove(at: 1)
        #expect(try vouchedFor() == [8, 13])
        chain.records = whole
        chain.records[2] = ChainTests.changed(whole[2], value: .some([1]))
        #expect(try vouchedFor() == [13])
    }
}
