import Kafka
import Records

/// The dead letters that a verified chain links to the end that the workers have committed.
///
/// Anyone with write access to the dead-letter topic can write a letter there, but not a group's
/// commits.
struct VouchedLetters: Sendable {
    let byID: [String: ChainLetter]

    /// Reads the headers from the first of these letters on, and those of the whole topic if that
    /// does not vouch for all letters.
    ///
    /// Only a commit vouches for a chain, and it takes every link up to the commit: the cost grows
    /// with the number of letters after the first one in its partition. A chain lies in one
    /// partition, unless the topic was given partitions since.
    ///
    /// - Parameters:
    ///   - ids: the letters that are asked for.
    ///   - positions: the positions of those letters that the index holds.
    ///   - progress: called with the number of offsets read, and their total.
    static func read(
        _ names: ReplayNames, keeping ids: Set<String>, near positions: [RecordPosition], progress: TopicScan.Progress
    ) async throws -> VouchedLetters {
        let starts = Dictionary(positions.map { ($0.partition, $0.offset) }) { min($0, $1) }
        let near = try await read(names, keeping: ids, from: starts, progress)
        guard !ids.isSubset(of: near.byID.keys) else { return near }
        return try await read(names, keeping: ids, from: nil, progress)
    }

    private static func read(
        _ names: ReplayNames, keeping ids: Set<String>, from starts: [Int32: Int64]?, _ progress: TopicScan.Progress
    ) async throws -> VouchedLetters {
        var evidence = ChainEvidence()
        // The heads are read before the topic, which then holds all letters that they name.
        evidence.heads = try await StageCommits(names: names).heads()
        evidence.starts = try await names.letters.watermarks().mapValues(\.low)
        // Letters before the starts do not count as missing, and no further reading searches for them.
        evidence.isRange = starts != nil
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
        return VouchedLetters(byID: letters)
    }
}
