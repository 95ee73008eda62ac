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
        var last = RevisionTable.Place.start
        while true {
            let page = RevisionTable.Page(after: last, countMax: Self.pageMax)
            let contents = try await client.run(RevisionTable.unclaimed, page)
            guard let end = contents.last else { return }
            last = end.place
            let findings = contents.filter(\.isUnclaimed).map { FactFinding($0) }
            if !findings.isEmpty { found(findings) }
        }
    }
}

extension FactFinding {
    fileprivate init(_ content: RevisionTable.PageContent) {
        let place = content.place
        let isTransaction = place.kind == RevisionTable.Row.Kind.transaction.rawValue
        let isRenewal = place.kind == RevisionTable.Row.Kind.renewal.rawValue
        self.init(
            table: isTransaction ? "transactions" : isRenewal ? "renewals" : "app_downloads",
            environment: place.environment,
            bundleID: isRenewal ? nil : place.bundleID,
            originalTransactionID: isRenewal ? place.id : content.originalTransactionID,
            // An account's is not said; its raw record is.
            id: isTransaction ? place.id : nil,
            track: isTransaction ? Track(rawValue: place.track) : nil,
            fault: isRenewal ? .rowMissingAmbiguous : .rowMissingUntrusted,
            source: content.source
        )
    }
}
