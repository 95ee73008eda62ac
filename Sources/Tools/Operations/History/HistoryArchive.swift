package import Postgres
import Settings
package import Store

/// The result for one table.
package struct ArchivedTable: Sendable {
    package let table: HistoryArchiving.Table
    package let rowCount: Int64
    /// Nil if rows were only counted, or there were none.
    package let file: String?
}

/// Goes through one table of the history, and counts what is old or moves it into a file.
///
/// A row is in the file, and the file on disk, before the transaction that deletes it commits: a
/// crash leaves rows in both, and never in neither. The next archive then holds them once more.
package struct HistoryArchive {
    private static let stepDeadline = Duration.seconds(300)

    private let connection: PostgresConnection
    private let table: HistoryArchiving.Table
    private let before: StoredTime

    /// - Parameter age: by the database's clock.
    package init(
        _ table: HistoryArchiving.Table,
        olderThan age: Duration,
        on connection: PostgresConnection
    ) async throws {
        let now = try await connection.run(DedupeForgetting.now)[0].milliseconds
        self.connection = connection
        self.table = table
        before = StoredTime(milliseconds: now - Int64(age / .milliseconds(1)))
    }

    /// - Parameters:
    ///   - folder: nil to count alone.
    ///   - report: called after each step with how many rows were found so far.
    package func run(to folder: String?, report: (Int64) -> Void) async throws -> ArchivedTable {
        guard let folder else {
            let count = try await count(report)
            return ArchivedTable(table: table, rowCount: count, file: nil)
        }
        return try await connection.withHistoryLock { try await move(to: folder, report) }
    }

    private func move(to folder: String, _ report: (Int64) -> Void) async throws -> ArchivedTable {
        let file = try ArchiveFile(folder: folder, table: table, before: before)
        defer { file.removeIfEmpty() }
        let (number, count) = try await move(to: file, report)
        if let number {
            _ = try await connection.run(HistoryArchiving.finish, (number, count))
        }
        return ArchivedTable(table: table, rowCount: count, file: number.map { _ in file.path })
    }

    private func count(_ report: (Int64) -> Void) async throws -> Int64 {
        var count: Int64 = 0
        for step in try await steps() {
            count += try await connection.run(
                HistoryArchiving.count(in: table),
                step,
                deadline: Self.stepDeadline
            )[0]
            report(count)
        }
        return count
    }

    /// - Returns: the archive's number, nil if no row was old enough, and how many rows it has.
    private func move(
        to file: ArchiveFile,
        _ report: (Int64) -> Void
    ) async throws -> (number: Int64?, count: Int64) {
        var number: Int64?
        var count: Int64 = 0
        for step in try await steps() {
            while true {
                let begun = number
                let taken = try await connection.transaction(deadline: Self.stepDeadline) {
                    let taken = try await take(step, on: $0)
                    let number = taken.lines.isEmpty ? begun : try await begin(begun, file, on: $0)
                    try file.write(taken.lines)
                    return (number: number, lines: taken.lines.count, found: taken.found)
                }
                number = taken.number
                count += Int64(taken.lines)
                report(count)
                if taken.found < HistoryArchiving.rowsPerTransaction { break }
            }
        }
        return (number, count)
    }

    /// Records with the first archived rows that an archive exists; without such rows nothing is
    /// missing from the history.
    private func begin(
        _ number: Int64?,
        _ file: ArchiveFile,
        on transaction: PostgresConnection
    ) async throws -> Int64 {
        if let number { return number }
        let archive: HistoryArchiving.Archive = (table: table, before: before, file: file.path)
        let number = try await transaction.run(HistoryArchiving.begin, archive)[0]
        try file.write(ArchiveHeader(number: number, table: table).line)
        return number
    }

    private func steps() async throws -> [HistoryArchiving.Step] {
        let pages = try await connection.run(HistoryArchiving.pageCount, table)[0]
        return stride(from: 0, to: pages, by: Int(HistoryArchiving.pagesPerStep)).map {
            (before: before, firstPage: $0)
        }
    }

    /// - Returns: the rows that are taken out, and how many were found before any was locked.
    private func take(
        _ step: HistoryArchiving.Step,
        on transaction: PostgresConnection
    ) async throws -> (lines: [JSONText], found: Int) {
        switch table {
        case .revisions: return try await takeRevisions(step, on: transaction)
        case .changes:
            let lines = Array(try await transaction.run(HistoryArchiving.takeChanges, step))
            return (lines, lines.count)
        case .notifications:
            let lines = Array(try await transaction.run(HistoryArchiving.takeNotifications, step))
            return (lines, lines.count)
        }
    }

    private func takeRevisions(
        _ step: HistoryArchiving.Step,
        on transaction: PostgresConnection
    ) async throws -> (lines: [JSONText], found: Int) {
        let old = Array(try await transaction.run(HistoryArchiving.oldRevisions, step))
        guard !old.isEmpty else { return ([], 0) }
        // A content that entitle-worker has made the newest again since then must stay.
        _ = try await transaction.run(Locks.projection, Array(Set(old.compactMap(\.scope))))
        _ = try await transaction.run(
            HistoryArchiving.lockDownloads,
            Array(Set(old.compactMap(\.download)))
        )
        let lines = try await transaction.run(
            HistoryArchiving.takeRevisions,
            (old.map(\.position), step.before)
        )
        return (Array(lines), old.count)
    }
}

extension HistoryArchiving {
    /// The least age of archived rows; a waiting request or a topic within its retention may still
    /// need younger ones.
    static let ageMin = Duration.seconds(30 * 86_400)
}

extension PostgresConnection {
    /// Runs `body` while nobody else archives or restores.
    nonisolated func withHistoryLock<T>(_ body: () async throws -> T) async throws -> T {
        guard try await run(HistoryArchiving.lock.acquire)[0] else {
            throw CommandError(
                ExitCode.unavailable,
                "another `\(PipelineTool.name) history` is at work: wait for its end"
            )
        }
        do {
            let value = try await body()
            _ = try await run(HistoryArchiving.lock.release)
            return value
        } catch {
            // Where this fails too, the session's end releases it.
            _ = try? await run(HistoryArchiving.lock.release)
            throw error
        }
    }
}
