import AppStore
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
        self.init(table, subject, originalTransactionID: original, fault, source: content.source)
    }
}
