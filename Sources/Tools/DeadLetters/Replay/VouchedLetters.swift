import Kafka
import Records

/// The dead letters that a verified chain holds: link by link before the end that the workers have
/// committed.
///
/// Anyone with write access to the dead-letter topic can write a letter there, but not a group's
/// commits.
struct VouchedLetters: Sendable {
    let byID: [String: ChainLetter]

    /// Reads the headers from the first of these letters on, or those of the whole topic if that does
    /// not vouch for all of them.
    ///
    /// Only the commits vouch for a chain, and its links lead there one by one: the cost grows with the
    /// letters behind the first one in its partition. A chain lies in one partition, unless the topic
    /// has been given partitions since.
    ///
    /// - Parameters:
    ///   - ids: the letters that are asked for.
    ///   - positions: the positions of those that the index holds.
    ///   - progress: called with how many offsets were read, and of how many.
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
        // Before the topic, so that it holds all letters that they name.
        evidence.heads = try await StageCommits(names: names).heads()
        evidence.starts = try await names.letters.watermarks().mapValues(\.low)
        // Letters before the starts are not missing, and are not looked for in another reading.
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
