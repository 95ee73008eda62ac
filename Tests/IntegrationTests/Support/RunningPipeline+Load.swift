import Demonstration
import Kafka
import Operations
import Records
import TestSupport
import Testing
import Simulation
import Topology
import Worker

extension RunningPipeline {
    private static let sliceCount = 25
    private static let waitingMax: Int64 = 60

    /// Publishes the traffic slice by slice, a new one whenever `verify` has nearly caught up, and
    /// begins again from the front when all of it is out.
    ///
    /// - Parameter isOver: ends it, once the whole traffic has been published too.
    func publishSteadily(until isOver: () -> Bool) async throws {
        var rest = traffic.items[...]
        while !isOver() || !rest.isEmpty {
            // A failed test no longer says when it is over.
            try Task.checkCancellation()
            if rest.isEmpty { rest = traffic.items[...] }
            let slice = rest.prefix(Self.sliceCount)
            try await publish(slice)
            try await publishAgain(slice)
            rest = rest.dropFirst(Self.sliceCount)
            let isMoving = try await becomesTrue(within: .seconds(120), every: .milliseconds(50)) {
                if isOver() { return true }
                return try await reconciliation()[.verify]?.lag ?? 0 < Self.waitingMax
            }
            guard isMoving else { throw PipelineFailure("verify does not get on") }
        }
    }

    /// Publishes every fifth item again, as apps post their purchases at a sign-in.
    ///
    /// The correlation ID makes their duplicates travel to the end.
    func publishAgain(_ items: some Collection<DemoItem>) async throws {
        let published = published.count
        let records = items.enumerated().filter { $0.offset.isMultiple(of: 5) }.map { index, item in
            var record = ProducerRecord(item, topic: layout.prefix + Topic.raw)
            record.headers.append(KafkaHeader(name: "correlation-id", text: "again-\(published + index)"))
            return record
        }
        try await publish(records)
    }
}

extension RunningPipeline {
    /// Expects the rows and the dead letters of an undisturbed run.
    func expectReferenceReached(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let reference = try reference()
        var rows: [String] = []
        // Links that changed last are followed up without a record of raw.
        _ = try await becomesTrue(within: .seconds(90), every: .milliseconds(250)) {
            rows = try await withDatabase { try await RowPicture($0) }.differences(from: reference.picture)
            return rows.isEmpty
        }
        #expect(rows.isEmpty, "rows differ: \(rows.joined(separator: "\n"))", sourceLocation: sourceLocation)
        let letters = try await deadLetters().refused.differences(from: reference.refused)
        #expect(
            letters.isEmpty, "dead letters differ: \(letters.joined(separator: "\n"))", sourceLocation: sourceLocation)
    }

    /// Expects what must be true in any case: the rows are the fold of all published bodies, the
    /// dead letters are the bad records, and every record is accounted for.
    func expectNothingLost(_ reconciliation: Reconciliation, sourceLocation: SourceLocation = #_sourceLocation)
        async throws
    {
        try await expectReferenceReached(sourceLocation: sourceLocation)
        try await expectFeedComplete(sourceLocation: sourceLocation)
        try await expectChainsIntact(sourceLocation: sourceLocation)
        #expect(reconciliation.problems.isEmpty, "\(reconciliation.problems)", sourceLocation: sourceLocation)
        #expect(reconciliation[.verify]?.settled == Int64(published.count), sourceLocation: sourceLocation)
        for stage in reconciliation.stages {
            #expect(
                stage.counts[.skipped] ?? 0 == 0, "\(stage.stage.name) skipped records", sourceLocation: sourceLocation)
        }
    }
}
