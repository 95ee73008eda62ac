import Postgres
import Testing

@testable import Store

/// Every statement of the store, by the name of its declaration.
enum DeclaredStatements {
    typealias Named = (name: String, statement: any DeclaredStatement)

    static let all: [Named] =
        named + [PurchaseDetails.ofUser, .ofTransaction].flatMap(of)
        + [SessionLock.linkOutbox, .catalogProjection].flatMap(of)
        + DeadLetterGrouping.allCases.flatMap(of)

    private static func of(_ details: PurchaseDetails) -> [Named] {
        [
            ("PurchaseDetails.owners", details.owners),
            ("PurchaseDetails.held", details.held),
            ("PurchaseDetails.transactions", details.transactions),
            ("PurchaseDetails.renewals", details.renewals),
            ("PurchaseDetails.credits", details.credits),
        ]
    }

    private static func of(_ lock: SessionLock) -> [Named] {
        [("SessionLock.acquire", lock.acquire), ("SessionLock.release", lock.release)]
    }

    private static func of(_ grouping: DeadLetterGrouping) -> [Named] {
        [true, false].map { fromHours in
            (
                "DeadLetterCounts.counting by \(grouping)",
                DeadLetterCounts.counting(by: grouping, fromHours: fromHours)
            )
        }
    }

    private static let named: [Named] =
        deadLetters + [
            ("DedupeForgetting.prune", DedupeForgetting.prune),
            ("DedupeForgetting.now", DedupeForgetting.now),
            ("DedupeForgetting.pagesOfRevisions", DedupeForgetting.pagesOfRevisions),
            ("DedupeForgetting.pagesOfNotifications", DedupeForgetting.pagesOfNotifications),
            ("DedupeForgetting.countRevisions", DedupeForgetting.countRevisions),
            ("DedupeForgetting.countNotifications", DedupeForgetting.countNotifications),
            ("DedupeForgetting.deleteRevisions", DedupeForgetting.deleteRevisions),
            ("DedupeForgetting.deleteNotifications", DedupeForgetting.deleteNotifications),
            ("RememberedRevision.recall", RememberedRevision.recall),
            ("RememberedRevision.raise", RememberedRevision.raise),
            ("RememberedNotification.recall", RememberedNotification.recall),
            ("RememberedNotification.add", RememberedNotification.add),
            ("CatalogTable.newestVersion", CatalogTable.newestVersion),
            ("CatalogTable.content", CatalogTable.content),
            ("CatalogTable.contents", CatalogTable.contents),
            ("CatalogTable.lock", CatalogTable.lock),
            ("CatalogTable.newest", CatalogTable.newest),
            ("CatalogTable.insert", CatalogTable.insert),
            ("CatalogProjection.read", CatalogProjection.read),
            ("CatalogProjection.begin", CatalogProjection.begin),
            ("CatalogProjection.reached", CatalogProjection.reached),
            ("CatalogProjection.finish", CatalogProjection.finish),
            ("CatalogProjection.sold", CatalogProjection.sold),
            ("EntitlementTable.write", EntitlementTable.write),
            ("EntitlementTable.remove", EntitlementTable.remove),
            ("EntitlementTable.read", EntitlementTable.read),
            ("HeldEntitlements.read", HeldEntitlements.read),
            ("ClosedPeriodTable.write", ClosedPeriodTable.write),
            ("ClosedPeriodTable.remove", ClosedPeriodTable.remove),
            ("ClosedPeriodTable.read", ClosedPeriodTable.read),
            ("GrantTable.add", GrantTable.add),
            ("GrantTable.revoke", GrantTable.revoke),
            ("StackedPurchaseTable.write", StackedPurchaseTable.write),
            ("StackedPurchaseTable.remove", StackedPurchaseTable.remove),
            ("StackedPurchaseTable.read", StackedPurchaseTable.read),
            ("StackedPurchaseTable.ofHolders", StackedPurchaseTable.ofHolders),
            ("LedgerTable.write", LedgerTable.write),
            ("LedgerTable.remove", LedgerTable.remove),
            ("LedgerTable.read", LedgerTable.read),
            ("AllPurchases.next", AllPurchases.next),
            ("AllPurchases.areWorkersConnected", AllPurchases.areWorkersConnected),
            ("EntitlementDetails.active", EntitlementDetails.active),
            ("EntitlementDetails.balances", EntitlementDetails.balances),
            ("EntitlementDetails.held", EntitlementDetails.held),
            ("EntitlementDetails.credited", EntitlementDetails.credited),
            ("UserDetails.versions", UserDetails.versions),
            ("UserDetails.grants", UserDetails.grants),
            ("UserDetails.balances", UserDetails.balances),
            ("UserDetails.debits", UserDetails.debits),
            ("UserDetails.otherEnvironments", UserDetails.otherEnvironments),
            ("UserDetails.changes", UserDetails.changes),
            ("UserDetails.changesOfTransaction", UserDetails.changesOfTransaction),
            ("UserDetails.known", UserDetails.known),
            ("RenewalTable.raise", RenewalTable.raise),
            ("RenewalTable.addGraces", RenewalTable.addGraces),
            ("RenewalTable.readRevisions", RenewalTable.readRevisions),
            ("RenewalTable.readGraces", RenewalTable.readGraces),
            ("RevisionTable.add", RevisionTable.add),
            ("RevisionTable.brought", RevisionTable.brought),
            ("NotificationTable.add", NotificationTable.add),
            ("AppDownloadTable.raise", AppDownloadTable.raise),
            ("TransactionTable.raise", TransactionTable.raise),
            ("TransactionTable.contradictions", TransactionTable.contradictions),
            ("TransactionTable.readOpen", TransactionTable.readOpen),
            ("ChangeTable.append", ChangeTable.append),
            ("OutboxTable.changes", OutboxTable.changes),
            ("OutboxTable.versions", OutboxTable.versions),
            ("OutboxTable.held", OutboxTable.held),
            ("OutboxTable.oldest", OutboxTable.oldest),
            ("OutboxTable.backlog", OutboxTable.backlog),
            ("FeedLeaseTable.hold", FeedLeaseTable.hold),
            ("FeedLeaseTable.shorten", FeedLeaseTable.shorten),
            ("FeedLeaseTable.renew", FeedLeaseTable.renew),
            ("FeedLeaseTable.confirm", FeedLeaseTable.confirm),
            ("FeedLeaseTable.republish", FeedLeaseTable.republish),
            ("FeedLeaseTable.release", FeedLeaseTable.release),
            ("FeedRepetitionTable.add", FeedRepetitionTable.add),
            ("FeedRepetitionTable.shorten", FeedRepetitionTable.shorten),
            ("FeedRepetitionTable.publishDue", FeedRepetitionTable.publishDue),
            ("Locks.sharedLinks", Locks.sharedLinks),
            ("Locks.afterSharedLinks", Locks.afterSharedLinks),
            ("Locks.sharedCatalog", Locks.sharedCatalog),
            ("Locks.afterSharedCatalog", Locks.afterSharedCatalog),
            ("Locks.accounts", Locks.accounts),
            ("Locks.ownership", Locks.ownership),
            ("Locks.projection", Locks.projection),
            ("Locks.users", Locks.users),
            ("AccountLinkTable.add", AccountLinkTable.add),
            ("AccountLinkTable.remove", AccountLinkTable.remove),
            ("AccountLinkTable.list", AccountLinkTable.list),
            ("AccountLinkTable.find", AccountLinkTable.find),
            ("LinkChangeTable.oldest", LinkChangeTable.oldest),
            ("LinkChangeTable.isAnythingDue", LinkChangeTable.isAnythingDue),
            ("LinkChangeTable.remove", LinkChangeTable.remove),
            ("LinkChangeTable.retry", LinkChangeTable.retry),
            ("LinkChangeTable.purchases", LinkChangeTable.purchases),
            ("LinkChangeTable.addAll", LinkChangeTable.addAll),
            ("LinkBacklog.changes", LinkBacklog.changes),
            ("LinkBacklog.purchases", LinkBacklog.purchases),
            ("LinkingRulesTable.write", LinkingRulesTable.write),
            ("LinkingRulesTable.read", LinkingRulesTable.read),
            ("OwnerChangeTable.record", OwnerChangeTable.record),
            ("OwnerChangeTable.due", OwnerChangeTable.due),
            ("OwnerChangeTable.sent", OwnerChangeTable.sent),
            ("OwnerChangeTable.removeProjected", OwnerChangeTable.removeProjected),
            ("OwnerTable.write", OwnerTable.write),
            ("OwnerTable.read", OwnerTable.read),
            ("OwnerTable.readWithChanges", OwnerTable.readWithChanges),
            ("OwnerTable.user", OwnerTable.user),
            ("OwnerTable.notify", OwnerTable.notify),
            ("AppTransactionGroupTable.owners", AppTransactionGroupTable.owners),
            ("AppTransactionGroupTable.dependants", AppTransactionGroupTable.dependants),
            ("OwnershipFactTables.raiseFacts", OwnershipFactTables.raiseFacts),
            ("OwnershipFactTables.raiseRenewals", OwnershipFactTables.raiseRenewals),
            ("OwnershipFactTables.raiseClaims", OwnershipFactTables.raiseClaims),
            ("OwnershipFactTables.copyFacts", OwnershipFactTables.copyFacts),
            ("OwnershipFactTables.copyRenewals", OwnershipFactTables.copyRenewals),
            ("OwnershipFactTables.readFacts", OwnershipFactTables.readFacts),
            ("OwnershipFactTables.readRenewals", OwnershipFactTables.readRenewals),
            ("OwnershipFactTables.readClaims", OwnershipFactTables.readClaims),
        ]

    private static let deadLetters: [Named] = [
        ("DeadLetterTable.shareStates", DeadLetterTable.shareStates),
        ("DeadLetterTable.upsert", DeadLetterTable.upsert),
        ("DeadLetterTable.addOlder", DeadLetterTable.addOlder),
        ("DeadLetterTable.newest", DeadLetterTable.newest),
        ("DeadLetterTable.oldest", DeadLetterTable.oldest),
        ("DeadLetterTable.search", DeadLetterTable.search),
        ("DeadLetterIndexTable.read", DeadLetterIndexTable.read),
        ("DeadLetterIndexTable.begin", DeadLetterIndexTable.begin),
        ("DeadLetterIndexTable.lock", DeadLetterIndexTable.lock),
        ("DeadLetterIndexTable.write", DeadLetterIndexTable.write),
        ("DeadLetterCounts.totalOfHours", DeadLetterCounts.totalOfHours),
        ("DeadLetterCounts.totalOfRows", DeadLetterCounts.totalOfRows),
        ("DeadLetterGroupTable.ofHours", DeadLetterGroupTable.ofHours),
        ("DeadLetterGroupTable.ofRows", DeadLetterGroupTable.ofRows),
        ("DeadLetterActionTable.append", DeadLetterActionTable.append),
        ("DeadLetterActionTable.decide", DeadLetterActionTable.decide),
        ("DeadLetterActionTable.ofLetter", DeadLetterActionTable.ofLetter),
        ("DeadLetterActionTable.ofAll", DeadLetterActionTable.ofAll),
        ("DeadLetterActionTable.standing", DeadLetterActionTable.standing),
    ]
}
