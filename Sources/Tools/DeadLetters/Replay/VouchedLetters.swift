import Kafka
import Records
import Store

/// The dead letters that a verified chain holds: link by link before the end that the workers have
/// committed.
///
/// Anyone with write access to the dead-letter topic can write a letter there, but not a group's
/// commits.
struct VouchedLetters: Sendable {
    private let letters: [String: ChainLetter]

    /// Reads the headers from the first of these letters on, or those of the whole topic if that does
    /// not vouch for all of them.
    ///
    /// A chain lies in one partition, so that its links behind a letter lie behind it there, unless the
    /// topic has been given partitions since.
    ///
    /// - Parameters:
    ///   - ids: the letters that are asked for.
    ///   - rows: those of them that the index holds.
    ///   - progress: called with how many offsets were read, and of how many.
    static func read(
        _ names: ReplayNames, keeping ids: Set<String>, near rows: [DeadLetterRow],
        progress: TopicScan.Progress = { _, _ in }
    ) async throws -> VouchedLetters {
        let starts = Dictionary(rows.map { ($0.letterPartition, $0.letterOffset) }) { min($0, $1) }
        let near = try await read(names, keeping: ids, from: starts, progress)
        guard !ids.isSubset(of: near.letters.keys) else { return near }
        return try await read(names, keeping: ids, from: nil, progress)
    }

    private static func read(
        _ names: ReplayNames, keeping ids: Set<String>, from starts: [Int32: Int64]?, _ progress: TopicScan.Progress
    ) async throws -> VouchedLetters {
        var evidence = ChainEvidence()
        // Before the topic, so that it holds all letters that they name.
        evidence.heads = try await StageCommits(names: names).heads()
        evidence.starts = try await names.letters.watermarks().mapValues(\.low)
        var verifier = ChainVerifier(topic: names.deadLetterTopic)
        verifier.expect(evidence, keeping: ids)
        var letters: [String: ChainLetter] = [:]
        repeat {
            verifier.removeLetters()
            _ = try await names.letters.visitRecords(from: starts, progress: progress) { records in
                for record in records {
                    guard let letter = try? DeadLetter(decoding: record),
                        let kept = ChainLetter(letter, record, hasOriginal: false)
                    else { continue }
                    verifier.add(kept)
                }
            }
            letters = verifier.vouchedFor(evidence)
        } while verifier.mustReadAgain
        return VouchedLetters(letters: letters)
    }

    /// The letter of this ID.
    ///
    /// - Parameter redactions: the redacted letters, as recorded by now.
    /// - Throws: `Unsendable` for a letter that is on no chain, and for a redacted one.
    func letter(_ id: String, redactions: Set<String>) throws(Unsendable) -> ChainLetter {
        guard !redactions.contains(id) else {
            throw Unsendable(.redacted, "it was redacted: its content was removed on an auditor's order")
        }
        guard let letter = letters[id] else {
            throw Unsendable(
                .onNoChain,
                "no verified chain holds it: see 'dead-letter verify'; what its source topic still "
                    + "holds can be published again")
        }
        return letter
    }
}
