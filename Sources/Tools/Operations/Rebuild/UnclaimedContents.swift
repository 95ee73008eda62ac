import AppStore
import Entitlements
import Postgres
import Records
import Store

/// Searches `revisions` for contents without a fact and without any other row that names their purchase.
struct UnclaimedContents {
    let client: PostgresClient

    private static let pageMax = 2_000

    /// - Parameter found: receives the findings of each page.
    func read(_ found: ([FactFinding]) -> Void) async throws {
        var last = RevisionTable.Name.start
        while true {
            let contents = try await client.run(RevisionTable.unclaimed, (last, Self.pageMax))
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
        let (table, original, fault): (String, Identifier?, Fault) =
            switch subject.kind {
            case .transaction: (TransactionFact.table.name, content.originalTransactionID, .rowMissingUntrusted)
            case .renewal: (RenewalFact.table.name, subject.id, .rowMissingAmbiguous)
            case .appTransaction: (AppTransactionFact.table.name, nil, .rowMissingUntrusted)
            }
        self.init(table, subject, originalTransactionID: original, fault: fault, source: content.source)
    }
}
