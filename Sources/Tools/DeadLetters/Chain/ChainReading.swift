import AppStore
import Kafka
import Records
import Topology

/// Reads the dead-letter topic and walks its chains.
struct ChainReading: Sendable {
    let report: ChainReport
    let summary: DeadLetterTopic.Summary
    private let verifier: ChainVerifier

    /// Reads the whole topic, or the letters that failed in a time range.
    ///
    /// The chains of the whole topic are compared with the workers' commits.
    ///
    /// - Parameters:
    ///   - former: an earlier reading, whose letters are not read again.
    ///   - anchors: links that were stored outside of Kafka.
    ///   - progress: called with the number of offsets read, and their total.
    ///   - visit: receives every dead letter and its record.
    static func read(
        _ context: ToolContext, after former: ChainReading? = nil, since: Timestamp? = nil, until: Timestamp? = nil,
        anchors: [ChainName: ChainAnchor.Link] = [:], progress: TopicScan.Progress = { _, _ in },
        _ visit: (DeadLetter, ConsumerRecord) -> Void = { _, _ in }
    ) async throws -> ChainReading {
        let topic = context.topic
        var evidence = ChainEvidence()
        var notes: [String] = []
        do { evidence.redactions = try await context.redactions() } catch {
            notes.append("\(error); the recorded redactions are unknown")
        }
        evidence.anchors = anchors
        evidence.isRange = since != nil || until != nil
        do { if !evidence.isRange { evidence.heads = try await context.commits.heads() } } catch {
            notes.append("\(error); the ends of the chains are not shown")
        }
        var verifier = former?.verifier ?? ChainVerifier(topic: topic.name)
        verifier.expect(evidence)
        var next = former?.summary.held.mapValues(\.upperBound) ?? [:]
        // Later passes end where the first one ended, so that they read only visited letters.
        var ends: [Int32: Int64]?
        while true {
            let isFirst = ends == nil
            let summary = try await topic.read(from: next, to: ends, since: since, progress: progress) { record in
                verifier.add(foreign: record)
            } _: { letter, record in
                guard until.map({ letter.failedAt < $0 }) ?? true else { return }
                verifier.add(letter, record)
                if isFirst { visit(letter, record) }
            }
            ends = ends ?? summary.held.mapValues(\.upperBound)
            evidence.starts = summary.held.mapValues(\.lowerBound)
            let isContinuous = next.allSatisfy { partition, offset in
                summary.held[partition].map { $0.contains(offset) || $0.upperBound == offset } ?? false
            }
            var report = verifier.report(evidence)
            guard isContinuous, !verifier.mustReadAgain else {
                // Reads the whole topic again: the verifier asks for it, or unread letters were removed.
                next = [:]
                verifier.removeLetters()
                continue
            }
            report.notes = notes + report.notes
            report.compare(try await topic.records(at: report.lettersToCompare))
            for (name, head) in evidence.heads where name.stage == Topology.stages.first?.name {
                report.traffic.bodies += head.records
                report.traffic.deadLettered += head.counted
            }
            return ChainReading(report: report, summary: summary, verifier: verifier)
        }
    }
}

/// The chains of a growing topic; each report continues where the one before has ended.
///
/// Once a day the whole topic is read, because letters that were read before may have been changed,
/// and those with findings may have been removed by retention.
package actor ChainProgress {
    private let context: ToolContext
    private var last: ChainReading?
    private var begunAt = ContinuousClock.now

    package init(_ context: ToolContext) { self.context = context }

    /// The chains of the topic, compared with the workers' commits.
    package func report(now: ContinuousClock.Instant = .now) async throws -> ChainReport { try await read(now).report }

    /// Resumes after the last successful reading.
    func read(_ now: ContinuousClock.Instant) async throws -> ChainReading {
        if now - begunAt >= Self.wholeInterval { last = nil }
        if last == nil { begunAt = now }
        let reading = try await ChainReading.read(context, after: last)
        last = reading
        return reading
    }

    private static let wholeInterval = Duration.seconds(86_400)
}
