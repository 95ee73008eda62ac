import AppStore
import Kafka
import Postgres
import Records
package import Store

/// Sends dead letters again: prepares, records, sends, follows and lists replays.
///
/// The command line and the web console use it. It keeps no state between calls.
package struct Replays: Sendable {
    let names: ReplayNames
    let verifier: ReplayVerifier
    let database: PostgresClient

    /// Makes the dry run: what would be sent, and the verdict of today's verifier on each letter.
    ///
    /// Writes and sends nothing.
    ///
    /// - Parameter progress: called with a step, the number done and the total.
    package func prepare(
        _ selection: ReplaySelection,
        progress: (ReplayPreparation.Step, _ done: Int64, _ total: Int64) -> Void = { _, _, _ in }
    ) async throws -> ReplayPlan {
        try await ReplayPreparation(names: names, verifier: verifier, database: database).plan(
            selection, progress: progress)
    }

    /// Records the replay with all its letters; nothing is sent before `run`.
    ///
    /// Letters that another replay has taken since the plan was made are left out.
    ///
    /// - Returns: the replay's number, and the number of letters that were left out.
    /// - Throws: `ReplayError` if the auditor, the reason or a limit is invalid, or if another
    ///   replay has taken all letters.
    package func begin(_ plan: ReplayPlan, who: AuditorName, why: String, limits: ReplayLimits = ReplayLimits())
        async throws -> (number: Int64, taken: Int)
    {
        try Self.check(why: why, limits)
        guard !plan.letters.isEmpty else { throw ReplayError(.empty, "no dead letter is left to be sent") }
        let records = plan.letters.enumerated().map { ordinal, letter -> ReplayRecordTable.New in
            (
                ordinal: Int64(ordinal), letterID: letter.row.id, transactionID: letter.row.identifiers.transactionID,
                raw: letter.row.raw?.description
            )
        }
        let new: ReplayTable.New = (
            who: who.text, why: why, filter: StorableText.of(plan.selection.text), count: records.count,
            rate: limits.rate, failingShareMax: limits.failingShareMax
        )
        return try await database.transaction(deadline: Self.beginDeadline) { connection in
            let number = try await connection.run(ReplayTable.add, new)[0]
            var held = 0
            // All statements together keep the order of the letters, as each `hold` does, so that
            // two replays never deadlock.
            let ordered = records.sorted { $0.letterID < $1.letterID }
            for start in stride(from: 0, to: ordered.count, by: Self.holdMax) {
                let part = ordered[start..<min(ordered.count, start + Self.holdMax)]
                held += try await connection.run(ReplayRecordTable.hold, (number, Array(part))).count
            }
            guard held > 0 else { throw ReplayError(.empty, "another replay has taken all of these dead letters") }
            var pipeline = Pipeline()
            pipeline.add(ReplayTable.setCount, (number, held))
            pipeline.add(
                ReplayTable.setState, (number, .prepared, "\(held) dead letters: \(new.filter)", who, .replayStarted))
            _ = try await connection.run(pipeline)
            return (number, records.count - held)
        }
    }

    /// Sends the remaining records of a new, interrupted or stopped replay, and follows their outcomes.
    ///
    /// - Parameters:
    ///   - who: the auditor who begins or continues the replay.
    ///   - stop: ends the run in order.
    ///   - progress: called whenever something is recorded.
    ///   - limits: changes the recorded limits.
    /// - Throws: `ReplayError`, or a server's error; the replay is then interrupted and can be
    ///   continued.
    package func run(
        _ number: Int64, who: AuditorName, stop: ReplayStop = ReplayStop(),
        progress: @escaping (ReplayProgress) -> Void = { _ in }, limits: (ReplayLimits) throws -> ReplayLimits = { $0 }
    ) async throws -> ReplayProgress {
        try await database.withHeldConnection { connection in
            guard !(try await connection.run(ReplayTable.get, number)).isEmpty else {
                throw ReplayError(.notFound, "there is no replay \(number)")
            }
            let ledger = try await ReplayLedger(number, who: who, on: connection)
            let row = try await ledger.row()
            guard row.state != .completed else { throw ReplayError(.finished, "replay \(number) is completed") }
            var recorded = ReplayLimits()
            recorded.rate = Int(row.rate)
            recorded.failingShareMax = row.failingShareMax
            let limits = try limits(recorded)
            try Self.check(why: row.why, limits)
            let isContinued = row.state != .prepared
            try await ledger.setState(
                .running, note: isContinued ? "continued" : "", action: isContinued ? .replayStarted : nil)
            do { return try await run(ledger, row, limits: limits, stop: stop, progress: progress) } catch {
                // If the database is gone, so is the replay's lock, and the replay counts as interrupted.
                try? await ledger.setState(.interrupted, note: "\(error)", action: .replayStopped)
                throw error
            }
        }
    }

    private func run(
        _ ledger: ReplayLedger, _ row: ReplayRow, limits: ReplayLimits, stop: ReplayStop,
        progress: @escaping (ReplayProgress) -> Void
    ) async throws -> ReplayProgress {
        let records = try await ledger.records()
        let unsent = Set(records.lazy.filter { $0.sentAt == nil }.map(\.letterID))
        let rows = try await DeadLetterTable.get(unsent, on: database)
        return try await ReplayReader.with(names, unsent, rows: rows) { reader in
            try await KafkaProducer.with(names.kafka, isUncompressed: { Topic.isUncompressed($0) }) { producer in
                try await ReplayRun(
                    names, ledger, row: row, limits: limits,
                    account: ReplayAccount(records, failingShareMax: limits.failingShareMax), reader: reader,
                    producer: producer, stop: stop, report: progress
                ).run()
            }
        }
    }
}

extension Replays {
    /// Abandons a replay that no process runs: its unsent records stay unsent, and another replay
    /// may take its letters.
    package func abandon(_ number: Int64, who: AuditorName, why: String) async throws {
        try Self.check(why: why, ReplayLimits())
        try await database.withHeldConnection { connection in
            let ledger = try await ReplayLedger(number, who: who, on: connection)
            guard try await ledger.row().state != .completed else {
                throw ReplayError(.finished, "replay \(number) is completed")
            }
            let reason = StorableText.of("abandoned by \(who.text): \(why)")
            _ = try await connection.transaction { connection in
                _ = try await connection.run(ReplayRecordTable.abandon, (number, reason))
                try await ledger.setState(.completed, note: reason, action: .replayCompleted)
            }
        }
    }

    package func newest(limit: Int) async throws -> [ReplayRow] {
        Array(try await database.run(ReplayTable.newest, limit))
    }

    /// Reads a replay by its number.
    ///
    /// `nil` if the number is unknown.
    package func replay(_ number: Int64) async throws -> ReplayRow? {
        try await database.run(ReplayTable.get, number).first
    }

    /// Records of a replay after an ordinal, in their order; after -1, the first ones.
    package func records(of number: Int64, after ordinal: Int64 = -1, limit: Int) async throws -> [ReplayRecordRow] {
        let page: ReplayRecordTable.Page = (replay: number, after: ordinal, limit: limit)
        return Array(try await database.run(ReplayRecordTable.read, page))
    }

    private static func check(why: String, _ limits: ReplayLimits) throws {
        guard (1...2_000).contains(why.utf8.count), !why.utf8.contains(0) else {
            throw ReplayError(.invalid, "expected a reason of 1 to 2,000 bytes")
        }
        guard ReplayLimits.rates.contains(limits.rate), (0...1).contains(limits.failingShareMax) else {
            throw ReplayError(
                .invalid,
                "expected a rate from 1 to \(ReplayLimits.rates.upperBound) records per second, and"
                    + " a share from 0 to 1")
        }
    }

    private static let beginDeadline = Duration.seconds(300)
    private static let holdMax = 5_000
}
