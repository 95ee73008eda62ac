import Entitlements
import Postgres
import Records
import Store

/// Looks through all of `revisions` for contents of which there is no fact, nor anything else that
/// tells to which purchase they belong.
struct UnclaimedContents {
    let client: PostgresClient

    private static let pageMax = 2_000

    /// - Parameter found: gets what each page has.
    func read(_ found: ([FactFinding]) -> Void) async throws {
        var last = RevisionTable.Name.start
        while true {
            let page = RevisionTable.Page(after: last, countMax: Self.pageMax)
            let contents = try await client.run(RevisionTable.unclaimed, page)
            guard let end = contents.last else { return }
            last = end.name
            let findings = contents.filter(\.isUnclaimed).map { FactFinding($0) }
            if !findings.isEmpty { found(findings) }
        }
    }
}

extension FactFinding {
    fileprivate init(_ content: RevisionTable.PageContent) {
        let subject = content.name.subject
        switch subject.kind {
        case .transaction:
            let table = TransactionFact.table.name
            let original = content.originalTransactionID
            self.init(table, subject, original, .rowMissingUntrusted, content.source)
        case .renewal:
            let table = RenewalFact.table.name
            self.init(table, subject, subject.id, .rowMissingAmbiguous, content.source)
        case .appTransaction:
            let table = AppTransactionFact.table.name
            self.init(table, subject, nil, .rowMissingUntrusted, content.source)
        }
    }
}
