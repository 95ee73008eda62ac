import AppStore
import Platform
import Postgres
import Records
import Store

/// Makes the dry run: selects the letters of a replay, and asks the verifier about each.
package struct ReplayPreparation {
    /// A step of the dry run, of which the progress is counted.
    package enum Step: Sendable {
        /// Offsets of the dead-letter topic.
        case reading
        /// Letters that the verifier was asked about.
        case verifying
    }

    typealias Progress = (Step, _ done: Int64, _ total: Int64) -> Void

    let names: ReplayNames
    let verifier: ReplayVerifier
    let database: PostgresClient

    func plan(_ selection: ReplaySelection, progress: Progress) async throws -> ReplayPlan {
        var skipped: [(id: String, why: ReplayPlan.Skipped)] = []
        let rows = try await select(selection, &skipped)
        let (verdicts, sourcesNote) = try await verdicts(on: rows, progress)
        let notes = [try await behind(), verifier.note, sourcesNote].compactMap(\.self)
        var letters = zip(rows, verdicts).map { ReplayPlan.Letter(row: $0, verdict: $1) }
        if let first = selection.first { letters = Array(letters.filter(\.isSendable).prefix(first)) }
        return ReplayPlan(
            selection: selection, letters: letters, skipped: skipped,
            note: notes.isEmpty ? nil : notes.joined(separator: "; "))
    }

    /// A note on letters that are left out because they are not indexed yet.
    ///
    /// `nil` if all are indexed.
    private func behind() async throws -> String? {
        let now = Timestamp(milliseconds: WallClock.milliseconds)
        let standing = try await IndexStanding.read(names.letters, on: database, now: now)
        return standing.unread == 0 ? nil : "letters that are not indexed are left out: \(standing.text)"
    }

    private func select(_ selection: ReplaySelection, _ skipped: inout [(id: String, why: ReplayPlan.Skipped)])
        async throws -> [DeadLetterRow]
    {
        var rows: [DeadLetterRow] = []
        var cursor: DeadLetterTable.Cursor?
        var seen: Set<String> = []
        repeat {
            let page = try await DeadLetterTable.page(
                selection.query, after: cursor, limit: Self.pageMax, order: .oldestFirst, on: database)
            let last = try await lastReplays(page.map(\.id))
            for row in page {
                seen.insert(row.id)
                if let why = Self.skip(row, last[row.id], for: selection) {
                    skipped.append((row.id, why))
                } else {
                    rows.append(row)
                }
            }
            guard rows.count <= ReplayPlan.lettersMax else {
                throw ReplayError(
                    .tooMany,
                    "more than \(ReplayPlan.lettersMax) dead letters match: narrow the filter, or"
                        + " replay in several parts")
            }
            cursor = page.count == Self.pageMax ? page.last.map { .init($0) } : nil
        } while cursor != nil
        skipped += selection.query.ids.subtracting(seen).sorted().map { ($0, .unknown) }
        return rows
    }

    private func lastReplays(_ ids: [String]) async throws -> [String: ReplayRecordTable.Last] {
        guard !ids.isEmpty else { return [:] }
        let last = try await database.run(ReplayRecordTable.last, ids)
        return Dictionary(last.map { ($0.letterID, $0) }, uniquingKeysWith: { $1 })
    }

    static func skip(_ row: DeadLetterRow, _ last: ReplayRecordTable.Last?, for selection: ReplaySelection)
        -> ReplayPlan.Skipped?
    {
        if let last, last.outcome == nil { return .held(replay: last.replay) }
        let isNamed = selection.includesResolved && selection.query.ids.contains(row.id)
        switch row.state {
        case .resolved where !isNamed: return .resolved
        case .suppressed where !isNamed: return .suppressed
        default: break
        }
        guard let last, !selection.again else { return nil }
        if last.outcome == .refused, let letter = last.refusedAs { return .refused(as: letter) }
        return last.outcome == .accepted ? .accepted(replay: last.replay) : nil
    }

    private func verdicts(on rows: [DeadLetterRow], _ progress: Progress) async throws -> (
        verdicts: [ReplayVerdict], sourcesNote: String?
    ) {
        guard !rows.isEmpty else { return ([], nil) }
        return try await ReplayReader.with(names, Set(rows.map(\.id)), rows: rows, isPreview: true) { reader in
            (try await verdicts(on: rows, by: reader, progress), reader.sourcesNote)
        }
    }

    private func verdicts(on rows: [DeadLetterRow], by reader: ReplayReader, _ progress: Progress) async throws
        -> [ReplayVerdict]
    {
        let ask = verifier.asked()
        var verdicts: [ReplayVerdict] = []
        for start in stride(from: 0, to: rows.count, by: Self.chunkMax) {
            try Task.checkCancellation()
            let chunk = rows[start..<min(rows.count, start + Self.chunkMax)]
            let ids = chunk.map(\.id)
            let redactions = Set(try await database.run(DeadLetterActionTable.redactedAmong, ids))
            for original in try await reader.originals(
                of: ids, redactions: redactions, progress: { progress(.reading, $0, $1) })
            {
                switch original {
                case .success(let original): verdicts.append(ask(original))
                case .failure(let why): verdicts.append(.unsendable(why))
                }
            }
            progress(.verifying, Int64(verdicts.count), Int64(rows.count))
        }
        return verdicts
    }

    private static let pageMax = 1_000
    /// Maximum letters read at once, because each may hold megabytes.
    private static let chunkMax = 100
}
