import AppStore
import Kafka
import OpenSSL
import Records
import Testing

@testable import DeadLetters

/// A walk that folds letters into pieces finds the same as one that holds every letter.
@Suite struct ChainFoldingTests {
    private typealias Chain = ChainTests.Chain

    private typealias Result = (report: ChainReport, verifier: ChainVerifier, readings: Int)

    private static func report(_ records: [ConsumerRecord], _ evidence: ChainEvidence, recentMax: Int?) throws -> Result
    {
        let letters = try records.map { try #require(ChainLetter($0)) }
        return try report(letters, evidence, recentMax: recentMax)
    }

    private static func report(
        _ letters: [ChainLetter], _ evidence: ChainEvidence, recentMax: Int?, expects: Bool = true,
        keeping ids: Set<String> = []
    ) throws -> Result {
        var verifier = ChainVerifier(topic: "storekit.dead-letter", recentMax: recentMax)
        if expects { verifier.expect(evidence, keeping: ids) }
        var readings = 0
        while true {
            readings += 1
            try #require(readings < 6)
            for letter in letters { verifier.add(letter) }
            let report = verifier.report(evidence)
            guard verifier.mustReadAgain else { return (report, verifier, readings) }
            verifier.removeLetters()
        }
    }

    /// The letters among these that the committed end vouches for.
    private static func vouched(_ verifier: ChainVerifier, _ evidence: ChainEvidence, _ ids: Set<String>) -> [String:
        ChainLetter]
    {
        var verifier = verifier
        let vouched = verifier.vouchedFor(evidence).filter { ids.contains($0.key) }
        #expect(!verifier.mustReadAgain)
        return vouched
    }

    @Test func `ten times as many letters are held in the same memory and read once`() throws {
        let sizes = try [1_024, 10_240].map { count in
            let chain = Chain((0..<count).map(Int64.init))
            var evidence = ChainEvidence()
            evidence.heads[Chain.name] = chain.head(counted: Int64(count))
            let (report, verifier, readings) = try Self.report(chain.records, evidence, recentMax: 256)
            #expect(report.isIntact && report.chains.first?.letters == count)
            #expect(readings == 1)
            return verifier.size
        }
        #expect(sizes[0] == sizes[1])
        #expect(sizes[0] < 600)
    }

    @Test func `what a crash has written twice is compared in one reading`() throws {
        var chain = Chain((0..<30).map(Int64.init))
        let rest = chain.records.dropFirst(25)
        chain.records += rest
        for offset in 30..<60 { chain.append(Int64(offset)) }
        var evidence = ChainEvidence()
        evidence.heads[Chain.name] = chain.head(counted: 60)
        let (report, _, readings) = try Self.report(chain.lying(), evidence, recentMax: 8)
        #expect(report.isIntact && report.chains.first?.repeated == 5)
        #expect(readings == 1)
    }

    @Test func `a copy of an old letter is compared with it in a second reading`() throws {
        var chain = Chain((0..<60).map(Int64.init))
        chain.records.append(chain.records[7])
        chain.records.append(ChainTests.changed(chain.records[9], value: .some([1])))
        var evidence = ChainEvidence()
        evidence.heads[Chain.name] = chain.head(counted: 60)
        let (report, verifier, readings) = try Self.report(chain.lying(), evidence, recentMax: 8)
        #expect(ChainTests.kinds(report) == ["altered"])
        #expect(report.chains.first?.repeated == 2)
        guard case .altered(_, _, let how)? = report.findings.first else { return }
        #expect(how.original?.offset == 9)
        #expect(readings == 2)
        #expect(verifier.size < 40)
    }

    @Test func `a redaction that is recorded is compared in one reading`() throws {
        var chain = Chain((0..<60).map(Int64.init))
        let redaction = DeadLetterRedaction.record(
            of: chain.records[7], by: "dpo", why: "request", at: Timestamp(milliseconds: 0))
        chain.records.append(Sample.consumed(redaction))
        var evidence = ChainEvidence()
        evidence.heads[Chain.name] = chain.head(counted: 60)
        evidence.redactions = Set([ChainLetter(chain.records[7])?.id].compactMap(\.self))
        let (report, _, readings) = try Self.report(chain.lying(), evidence, recentMax: 8)
        #expect(report.isIntact && report.chains.first?.repeated == 1)
        #expect(readings == 1)
    }

    @Test(.timeLimit(.minutes(10))) func `altered letters that name each other in a circle end the walk`() throws {
        var chain = Chain([3, 5])
        let digests = [SHA256.digest([1]).hex, SHA256.digest([2]).hex]
        chain.records = chain.records.enumerated().map { index, record in
            let headers = record.headers.map { header in
                switch header.name {
                case DeadLetterHeader.previous: KafkaHeader(name: header.name, text: digests[1 - index])
                case DeadLetterHeader.chainSHA256: KafkaHeader(name: header.name, text: digests[index])
                default: header
                }
            }
            return ChainTests.changed(record, headers: headers)
        }
        #expect(ChainTests.kinds(try chain.report()) == ["altered", "altered"])
    }

    // The one of 416 begins inside of a piece.
    @Test(arguments: 0..<420) func `a history is judged alike, folded or not`(seed: UInt64) throws {
        var history = History(seed: seed)
        let (records, evidence) = history.make()
        let letters = try records.map { try #require(ChainLetter($0)) }
        let whole = try Self.report(letters, evidence, recentMax: nil)
        #expect(whole.readings == 1)
        let kept = Set(letters.map(\.id).enumerated().filter { $0.offset % 3 == 1 }.map(\.element))
        let vouched = Self.vouched(whole.verifier, evidence, kept)
        for recentMax in [1, 3, 8] {
            for expects in [true, false] {
                let folded = try Self.report(letters, evidence, recentMax: recentMax, expects: expects, keeping: kept)
                #expect(!expects || Self.vouched(folded.verifier, evidence, kept) == vouched)
                #expect(folded.report.chains == whole.report.chains)
                #expect(folded.report.findings == whole.report.findings)
                #expect(folded.report.notes == whole.report.notes)
            }
        }
    }
}

/// A random chain with what workers do by themselves, and what others do to it.
private struct History {
    private var random: Xorshift
    private var chain = ChainTests.Chain([])
    /// The commits, one after the other.
    private var commits: [(head: SHA256Digest?, next: Int64)] = [(nil, 0)]
    private var head: SHA256Digest?
    private var next: Int64 = 0
    private var worker = 0

    init(seed: UInt64) { random = Xorshift(state: seed &* 0x9E37_79B9_7F4A_7C15 | 1) }

    mutating func make() -> (records: [ConsumerRecord], evidence: ChainEvidence) {
        let (eventShare, tamperingsMax) = (roll(2) == 0 ? 40 : 8, roll(4))
        for _ in 0..<(20 + roll(50)) {
            refuse()
            if roll(4) == 0 { commits.append((head, next)) }
            if roll(eventShare) == 0 { happen() }
        }
        if roll(2) == 0 { commits.append((head, next)) }
        var records = chain.lying()
        for _ in 0..<tamperingsMax { tamper(&records) }
        if roll(8) == 0 { split(&records) }
        if roll(4) == 0 { records.removeFirst(min(records.count, roll(12))) }
        // An export may have its lines in any order.
        if roll(8) == 0, records.count > 1 { records.swapAt(roll(records.count), roll(records.count)) }
        // Or the topic had two letters in another order than their export.
        if roll(8) == 0, records.count > 1 {
            let one = roll(records.count - 1)
            let offsets = (records[one].offset, records[one + 1].offset)
            records[one] = ChainTests.changed(records[one], offset: offsets.1)
            records[one + 1] = ChainTests.changed(records[one + 1], offset: offsets.0)
        }
        return (records, evidence(records))
    }

    private mutating func roll(_ bound: Int) -> Int { Int.random(in: 0..<max(1, bound), using: &random) }

    private mutating func refuse() {
        next += Int64(1 + roll(2))
        head = chain.append(
            next, after: .some(head), reason: roll(30) == 0 ? .bundleMismatch : .signatureInvalid,
            worker: "verify-\(worker)")
    }

    /// Steps that a worker takes by itself.
    private mutating func happen() {
        let last = commits[commits.count - 1]
        switch roll(5) {
        case 0:  // A crash; the same worker goes on.
            (head, next) = last
        case 1:  // Another one does.
            worker += 1
            (head, next) = last
        case 2:  // One that has lost the partition goes on for a while.
            let (ownHead, ownNext) = (head, next)
            (head, next) = last
            worker += 10
            for _ in 0...roll(4) { refuse() }
            worker -= 10
            (head, next) = (ownHead, ownNext)
        case 3:  // The group is set back, or loses its metadata.
            next = Int64(roll(Int(next) + 1))
            head = nil
        default:  // The record behind the commit is accepted now.
            (head, next) = (last.head, last.next + 1)
        }
    }

    /// Interventions of somebody else in the topic.
    private mutating func tamper(_ records: inout [ConsumerRecord]) {
        guard records.count > 3 else { return }
        let (one, other) = (roll(records.count), roll(records.count))
        switch roll(7) {
        case 0: records.remove(at: one)
        case 1: records.append(records[one])
        case 2:
            let redaction = DeadLetterRedaction.record(
                of: records[one], by: "dpo", why: "request", at: Timestamp(milliseconds: 0))
            // Beside its original, or in the position of one that is gone.
            if roll(2) == 0 {
                records.append(Sample.consumed(redaction))
            } else {
                records[one] = Sample.consumed(redaction)
            }
        case 3: records.swapAt(one, other)
        case 4: records[one] = ChainTests.changed(records[one], value: .some([1]))
        case 5:
            let names = [
                DeadLetterHeader.id, DeadLetterHeader.detail, DeadLetterHeader.sourceOffset, DeadLetterHeader.previous,
                DeadLetterHeader.chainSHA256,
            ]
            let name = names[roll(names.count)]
            let text = text(name, records[roll(records.count)])
            var headers = records[other].headers.map { $0.name == name ? KafkaHeader(name: name, text: text) : $0 }
            // A forger may write a link that matches.
            if roll(2) == 0, let link = DeadLetterLink(reading: headers)?.digest.hex {
                headers = headers.map {
                    $0.name == DeadLetterHeader.chainSHA256 ? KafkaHeader(name: $0.name, text: link) : $0
                }
            }
            records.insert(ChainTests.changed(records[other], headers: headers), at: one)
        default:
            var forged = ChainTests.Chain([])
            let previous = ChainLetter(records[one])?.digest
            forged.append(
                Int64(roll(Int(next) + 5)), after: .some(previous),
                reason: roll(2) == 0 ? .bundleMismatch : .signatureInvalid)
            records.insert(forged.records[0], at: other)
        }
        records = records.enumerated().map { ChainTests.changed($1, offset: Int64($0)) }
    }

    private func text(_ name: String, _ record: ConsumerRecord) -> String {
        record.headers.last { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) } ?? "0"
    }

    /// The dead-letter topic got more partitions: the second half lies in another one.
    private mutating func split(_ records: inout [ConsumerRecord]) {
        let middle = roll(records.count)
        records = records.enumerated().map { index, record in
            guard index >= middle else { return record }
            return ConsumerRecord(
                topicPartition: TopicPartition(topic: "storekit.dead-letter", partition: 4),
                offset: Int64(index - middle), timestampMilliseconds: record.timestampMilliseconds, key: record.key,
                value: record.value, headers: record.headers)
        }
        if roll(2) == 0 { records = Array(records[middle...] + records[..<middle]) }
    }

    private mutating func evidence(_ records: [ConsumerRecord]) -> ChainEvidence {
        var evidence = ChainEvidence()
        if roll(3) > 0 { evidence.starts = [0: records.first?.offset ?? 0, 4: 0] }
        if roll(2) == 0 {
            let redacted = records.lazy.compactMap { ChainLetter($0) }.filter(\.isRedaction)
            evidence.redactions = Set(redacted.map(\.id))
        }
        if roll(6) == 0, let record = records.randomElement(using: &random), let letter = ChainLetter(record) {
            evidence.anchors[ChainTests.Chain.name] = ChainAnchor.Link(
                digest: letter.digest, partition: letter.partition, offset: letter.offset, letters: 1)
        }
        let commit = commits[roll(3) == 0 ? roll(commits.count) : commits.count - 1]
        evidence.heads[ChainTests.Chain.name] =
            roll(6) == 0
            ? nil
            : ChainHead(
                digest: roll(8) == 0 ? nil : commit.head, counted: Int64(roll(records.count + 1)), offset: commit.next,
                records: Int64(roll(Int(commit.next) + 1)))
        return evidence
    }
}

private struct Xorshift: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}

extension ChainLetter {
    fileprivate init?(_ record: ConsumerRecord) {
        guard let letter = try? DeadLetter(decoding: record) else { return nil }
        self.init(letter, record)
    }
}
