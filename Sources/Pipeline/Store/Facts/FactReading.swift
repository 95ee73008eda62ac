package import Entitlements

/// Reads all rows and facts of scopes, as part of a pipeline.
package struct FactReading {
    package let closedPeriods: Pipeline.Token<ClosedPeriodTable.Row>
    package let transactions: Pipeline.Token<TransactionFact>
    package let renewals: Pipeline.Token<RenewalFact>
    package let spans: Pipeline.Token<RenewalTable.Span>
    package let owners: Pipeline.Token<OwnerTable.Changed>
    package let entitlements: Pipeline.Token<EntitlementTable.Row>
    package let credits: Pipeline.Token<LedgerTable.Row>
    package let stackedPurchases: Pipeline.Token<StackedPurchase>

    /// - Parameter whole: whether each transaction is read, also those in closed periods.
    package init(_ scopes: [PurchaseScope], whole: Bool = false, in pipeline: inout Pipeline) {
        closedPeriods = pipeline.add(ClosedPeriodTable.read, whole ? [] : scopes)
        transactions = pipeline.add(whole ? TransactionTable.read : TransactionTable.readOpen, scopes)
        renewals = pipeline.add(RenewalTable.readFacts, scopes)
        spans = pipeline.add(RenewalTable.readSpans, scopes)
        owners = pipeline.add(OwnerTable.readWithChanges, scopes)
        entitlements = pipeline.add(EntitlementTable.read, scopes)
        credits = pipeline.add(LedgerTable.read, scopes)
        stackedPurchases = pipeline.add(StackedPurchaseTable.read, scopes)
    }
}
