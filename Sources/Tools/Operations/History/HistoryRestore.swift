import Foundation
import JSON
import Postgres
import Settings
import Store

/// Puts the rows of one archive back, in transactions of some hundred.
struct HistoryRestore {
    private static let lineBytesMax = 64 * 1_048_576
    private static let rowsPerTransaction = 200

    let connection: PostgresConnection

    /// - Parameter report: called after each transaction with how many rows were read so far, and
    ///   how many there should be; nil if that is unknown.
    /// - Returns: how many rows were not in the database.
    func run(_ path: String, report: (Int, Int64?) -> Void) async throws -> Int {
        let file = try BodySource.open(path)
        var lines = LineReader(lineBytesMax: Self.lineBytesMax, of: file)
        let header = try next(&lines, path).flatMap { ArchiveHeader($0) }
        guard let header else {
            throw CommandError(ExitCode.data, "\(path) is no archive of `pipeline history archive`")
        }
        let known = Array(
            try await connection.run(HistoryRestoring.known, (header.number, header.table))
        )
        guard let rowCount = known.first else {
            throw CommandError(
                ExitCode.data,
                "\(path) is archive \(header.number), which this database has not written"
            )
        }
        return try await connection.withHistoryLock {
            var (read, restored) = (0, 0)
            while case let rows = try some(of: &lines, path, isComplete: rowCount != nil),
                !rows.isEmpty
            {
                restored += try await add(rows, to: header.table)
                read += rows.count
                report(read, rowCount)
            }
            if let rowCount, read < rowCount {
                throw CommandError(
                    ExitCode.data,
                    "\(path) holds \(read) of its \(rowCount) rows; these are restored, find the "
                        + "rest"
                )
            }
            _ = try await connection.run(HistoryRestoring.finish, header.number)
            return restored
        }
    }

    private func add(_ rows: [JSONText], to table: HistoryArchiving.Table) async throws -> Int {
        try await connection.transaction { transaction in
            switch table {
            case .revisions:
                return try await transaction.run(HistoryRestoring.addRevisions, rows).affectedCount
            case .notifications:
                return try await transaction.run(HistoryRestoring.addNotifications, rows)
                    .affectedCount
            case .changes:
                let count = try await transaction.run(HistoryRestoring.addChanges, rows)
                    .affectedCount
                _ = try await transaction.run(HistoryRestoring.withdrawChanges)
                return count
            }
        }
    }

    /// - Parameter isComplete: whether every transaction of the archive was committed. The last one
    ///   of an interrupted archive may have left half a line, of a row that is in the database.
    private func some(
        of lines: inout LineReader,
        _ path: String,
        isComplete: Bool
    ) throws(CommandError) -> [JSONText] {
        var rows: [JSONText] = []
        while rows.count < Self.rowsPerTransaction, let line = try next(&lines, path) {
            let row = try? JSONDocument(parsing: line, policy: .grammar).root
            guard row?.kind == .object else {
                let number = lines.lineNumber
                if !isComplete, try next(&lines, path) == nil { break }
                throw CommandError(
                    ExitCode.data,
                    "\(path), line \(number): it is not JSON: find a whole copy of the file, or "
                        + "take the line out to restore the others"
                )
            }
            rows.append(JSONText(line))
        }
        return rows
    }

    private func next(_ lines: inout LineReader, _ path: String) throws(CommandError) -> [UInt8]? {
        do {
            return try lines.next()
        } catch {
            throw CommandError(ExitCode.noInput, "cannot read \(path)")
        }
    }
}
