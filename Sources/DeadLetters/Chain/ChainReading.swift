import AppStore
import Kafka
import Records
import Settings
import Topology
import Worker

extension ToolContext {
    /// The state of all chains of the topic, compared with the workers' commits.
    package func chainReport() async throws -> ChainReport {
        try await ChainReading.ofTopic(self).report
    }
}

/// Reads the dead-letter topic, or an export of it, and walks its chains.
struct ChainReading {
    let report: ChainReport
    let summary: DeadLetterTopic.Summary

    /// The whole topic, compared with the workers' commits.
    ///
    /// - Parameters:
    ///   - anchors: links that were stored elsewhere before.
    ///   - visit: receives every dead letter and its record.
    static func ofTopic(
        _ context: ToolContext,
        anchors: [ChainName: ChainAnchor.Link] = [:],
        _ visit: (DeadLetter, ConsumerRecord) -> Void = { _, _ in }
    ) async throws -> ChainReading {
        var (evidence, notes) = await evidence(context)
        evidence.anchors = anchors
        do {
            evidence.heads = try await context.commits.heads()
        } catch {
            notes.append("\(error); the ends of the chains are not shown")
        }
        return try await read(context.topic, since: nil, &evidence, notes, visit)
    }

    /// The letters that failed in a time range.
    static func ofRange(
        _ context: ToolContext,
        since: Timestamp?,
        until: Timestamp?,
        _ visit: (DeadLetter, ConsumerRecord) -> Void
    ) async throws -> ChainReading {
        var (evidence, notes) = await evidence(context)
        evidence.isRange = true
        return try await read(context.topic, since: since, until: until, &evidence, notes, visit)
    }

    /// The recorded redactions, or a note that they are unknown.
    private static func evidence(_ context: ToolContext) async -> (ChainEvidence, [String]) {
        var evidence = ChainEvidence()
        guard context.client != nil else { return (evidence, []) }
        do {
            evidence.redactions = try await context.redactions()
            return (evidence, [])
        } catch {
            return (evidence, ["\(error); the recorded redactions are unknown"])
        }
    }

    private static func read(
        _ topic: DeadLetterTopic,
        since: Timestamp?,
        until: Timestamp? = nil,
        _ evidence: inout ChainEvidence,
        _ notes: [String],
        _ visit: (DeadLetter, ConsumerRecord) -> Void
    ) async throws -> ChainReading {
        var verifier = ChainVerifier(topic: topic.name)
        var foreign: [ConsumerRecord] = []
        let summary = try await topic.read(since: since) { record in
            // Bounded: one finding is enough to point there.
            if foreign.count < foreignMax { foreign.append(record) }
        } _: { letter, record in
            guard until.map({ letter.failedAt < $0 }) ?? true else { return }
            verifier.add(letter, record)
            visit(letter, record)
        }
        foreign.forEach { verifier.add(foreign: $0) }
        evidence.starts = summary.held.mapValues(\.lowerBound)
        var report = verifier.report(evidence)
        report.notes = notes + report.notes
        report.compare(try await topic.records(at: report.lettersToCompare))
        for (name, head) in evidence.heads where name.stage == Topology.stages.first?.name {
            report.traffic.bodies += head.records
            report.traffic.deadLettered += head.counted
        }
        return ChainReading(report: report, summary: summary)
    }

    private static let foreignMax = 1_000
}
