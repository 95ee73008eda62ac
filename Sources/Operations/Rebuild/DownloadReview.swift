import AppStore
import Entitlements
import Postgres
import Store

/// Compares the rows of `app_downloads` with the app transactions that they were read from.
///
/// They belong to no purchase and grant nothing: each window is a transaction of its own, with its
/// rows locked.
struct DownloadReview {
    let client: PostgresClient
    let isReplacing: Bool

    private static let rowsMax = 100

    private struct Undone: Error {
        let window: Window
    }

    private struct Window {
        var findings: [FactFinding] = []
        var last: AppTransactionGroup?
    }

    /// - Parameter found: gets what each window has.
    func run(_ found: ([FactFinding]) -> Void) async throws {
        var last = AppTransactionGroup(
            environment: Environment(rawValue: ""),
            bundleID: "",
            appTransactionID: ""
        )
        while true {
            let window = try await window(after: last)
            guard let end = window.last else { return }
            last = end
            if !window.findings.isEmpty { found(window.findings) }
        }
    }

    private func window(after last: AppTransactionGroup) async throws -> Window {
        do {
            return try await client.transaction { connection in
                let window = try await review(after: last, connection)
                guard isReplacing else { throw Undone(window: window) }
                return window
            }
        } catch let undone as Undone {
            return undone.window
        }
    }

    private func review(
        after last: AppTransactionGroup,
        _ connection: PostgresConnection
    ) async throws -> Window {
        let asked = AppDownloadTable.Window(after: last, countMax: Self.rowsMax)
        let rows = Array(try await connection.run(AppDownloadTable.next, asked))
        var window = Window(last: rows.last?.group)
        var newest: [Int: RevisionTable.Content] = [:]
        for content in try await connection.run(RevisionTable.newest, rows.map(\.subject)) {
            newest[content.index] = content
        }
        let questions = rows.indices.map { index in
            RecordedContents.Question(
                subject: rows[index].subject,
                trust: rows[index].trust,
                revision: ReviewedRow(fact: rows[index], isMissing: false)
                    .revision(rows[index].revision, newest[index])
            )
        }
        var facts: [AppDownloadTable.Row] = []
        var indexes: [Int] = []
        try await RecordedContents(connection: connection).read(questions) { index, reading in
            switch reading {
            case .facts(let read):
                guard var fact = read.appTransaction else { return }
                fact.revision = questions[index].revision
                guard let row = AppDownloadTable.Row(fact) else { return }
                facts.append(row)
                indexes.append(index)
            case .missing:
                let fault = FactFinding.Fault.contentMissing(column: "content_hash")
                window.findings.append(FactFinding(rows[index], fault, newest[index]))
            case .unreadable:
                window.findings.append(FactFinding(rows[index], .contentUnreadable, newest[index]))
            }
        }
        guard !facts.isEmpty else { return window }
        for replaced in try await connection.run(AppDownloadTable.replace, facts) {
            let row = rows[indexes[replaced.index]]
            let fault = FactFinding.Fault(
                replaced,
                isBehind: row.revision < facts[replaced.index].revision
            )
            window.findings.append(FactFinding(row, fault, newest[indexes[replaced.index]]))
        }
        return window
    }
}

extension AppDownloadTable.Named {
    /// Under what its contents stand.
    fileprivate var subject: RevisionTable.Subject {
        RevisionTable.Subject(
            kind: .appTransaction,
            environment: group.environment,
            bundleID: group.bundleID,
            id: group.appTransactionID,
            track: .jws
        )
    }
}

extension FactFinding {
    /// A finding that names a row by the raw record of one of its contents, and not by the account.
    fileprivate init(
        _ row: AppDownloadTable.Named,
        _ fault: Fault,
        _ content: RevisionTable.Content?
    ) {
        self.init(
            table: "app_downloads",
            environment: row.group.environment.rawValue,
            bundleID: row.group.bundleID,
            fault: fault,
            source: content?.source
        )
    }
}
