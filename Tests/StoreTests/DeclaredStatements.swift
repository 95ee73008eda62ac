import Postgres
import Testing

@testable import Store

/// Every statement of the store, by the name of its declaration.
enum DeclaredStatements {
    typealias Named = (name: String, statement: any DeclaredStatement)

    static let all: [Named] =
        named + upserts + [PurchaseDetails.ofUser, .ofTransaction].flatMap(of)
        + [SessionLock.linkOutbox, .catalogProjection, .recovery].flatMap(of) + DeadLetterGrouping.allCases.flatMap(of)
        + DedupeForgetting.Table.allCases.flatMap(of)
        + [DeadLetterTable.Order.newestFirst, .oldestFirst].flatMap { order in
            [
                ("DeadLetterTable.page \(order)", DeadLetterTable.page(order)),
                ("DeadLetterTable.pageByHours \(order)", DeadLetterTable.pageByHours(order)),
            ]
        }

    private static func of(_ table: DedupeForgetting.Table) -> [Named] {
        [
            ("DedupeForgetting.pageCount of \(table)", DedupeForgetting.pageCount(of: table)),
            ("DedupeForgetting.count in \(table)", DedupeForgetting.count(in: table)),
            ("DedupeForgetting.delete from \(table)", DedupeForgetting.delete(from: table)),
        ]
    }

    private static func of(_ details: PurchaseDetails) -> [Named] {
        [
            ("PurchaseDetails.owners", details.owners), ("PurchaseDetails.held", details.held),
            ("PurchaseDetails.transactions", details.transactions), ("PurchaseDetails.renewals", details.renewals),
            ("PurchaseDetails.credits", details.credits),
        ]
    }

    private static func of(_ lock: SessionLock) -> [Named] {
        [("SessionLock.acquire", lock.acquire), ("SessionLock.release", lock.release)]
    }

    private static func of(_ grouping: DeadLetterGrouping) -> [Named] {
        [true, false].map { fromHours in
            ("DeadLetterCounts.counting by \(grouping)", DeadLetterCounts.counting(by: grouping, fromHours: fromHours))
        }
    }

    private static func of<Row>(_ name: String, _ table: Upsert<Row>) -> [Named] {
        [(name, table.upsert), ("\(name), of new rows", table.insert)]
    }

    private static let upserts: [Named] =
        of("RememberedRevision.raise", RememberedRevision.raise) + of("EntitlementTable.write", EntitlementTable.write)
        + of("RevisionTable.add", RevisionTable.add) + of("TransactionTable.raise", TransactionTable.raise)
        + of("OwnerTable.write", OwnerTable.write)

    private static let rereading: [Named] = [
        ("TransactionTable.read", TransactionTable.read), ("TransactionTable.scopes", TransactionTable.scopes),
        ("TransactionTable.replace", TransactionTable.replace), ("RenewalTable.read", RenewalTable.read),
        ("RenewalTable.replace", RenewalTable.replace), ("RenewalTable.removeSpans", RenewalTable.removeSpans),
        ("AppDownloadTable.next", AppDownloadTable.next), ("AppDownloadTable.replace", AppDownloadTable.replace),
        ("RevisionTable.newest", RevisionTable.newest), ("RevisionTable.stating", RevisionTable.stating),
        ("RevisionTable.older", RevisionTable.older), ("RevisionTable.payloads", RevisionTable.payloads),
        ("RevisionTable.unclaimed", RevisionTable.unclaimed), ("ForgottenUserTable.tokens", ForgottenUserTable.tokens),
    ]

    private static let recovery: [Named] = [
        ("AppleNotificationTable.list", AppleNotificationTable.list),
        ("AppleNotificationTable.published", AppleNotificationTable.published),
        ("AppleNotificationTable.settle", AppleNotificationTable.settle),
        ("AppleNotificationTable.prune", AppleNotificationTable.prune),
        ("AppleAccountTable.counts", AppleAccountTable.counts),
        ("AppleAccountTable.missing", AppleAccountTable.missing), ("AppleAccountTable.open", AppleAccountTable.open),
        ("RecoveryWindowTable.configure", RecoveryWindowTable.configure),
        ("RecoveryWindowTable.begin", RecoveryWindowTable.begin), ("RecoveryWindowTable.due", RecoveryWindowTable.due),
        ("RecoveryWindowTable.clip", RecoveryWindowTable.clip),
        ("RecoveryWindowTable.advance", RecoveryWindowTable.advance),
        ("RecoveryWindowTable.delay", RecoveryWindowTable.delay),
        ("RecoveryWindowTable.finish", RecoveryWindowTable.finish),
        ("RecoveryLimitTable.hold", RecoveryLimitTable.hold), ("RecoveryLimitTable.held", RecoveryLimitTable.held),
        ("RecoveryLimitTable.lift", RecoveryLimitTable.lift), ("RecoveryLimitTable.due", RecoveryLimitTable.due),
        ("RecoveryWindowTable.states", RecoveryWindowTable.states),
        ("RecoveryRequestTable.add", RecoveryRequestTable.add),
        ("RecoveryRequestTable.addStale", RecoveryRequestTable.addStale),
        ("RecoveryRequestTable.due", RecoveryRequestTable.due),
        ("RecoveryRequestTable.awaitOwner", RecoveryRequestTable.awaitOwner),
        ("RecoveryRequestTable.advance", RecoveryRequestTable.advance),
        ("RecoveryRequestTable.finish", RecoveryRequestTable.finish),
        ("RecoveryRequestTable.delay", RecoveryRequestTable.delay),
        ("RecoveryRequestTable.prune", RecoveryRequestTable.prune),
        ("RecoveryRequestTable.states", RecoveryRequestTable.states),
        ("RecoveryRequestTable.counts", RecoveryRequestTable.counts),
        ("RecoveryRequestTable.unfinished", RecoveryRequestTable.unfinished), ("UserPurchases.all", UserPurchases.all),
    ]

    private static let named: [Named] =
        deadLetters + rereading + recovery + [
            ("StoredAboutUser.counts", StoredAboutUser.counts),
            ("StoredAboutUser.identifiers", StoredAboutUser.identifiers), ("FeedRecovery.raise", FeedRecovery.raise),
            ("FeedRecovery.begin", FeedRecovery.begin), ("FeedRecovery.queue", FeedRecovery.queue),
            ("ForgottenUserTable.forget", ForgottenUserTable.forget),
            ("DedupeForgetting.prune", DedupeForgetting.prune), ("DedupeForgetting.now", DedupeForgetting.now),
            ("RememberedRevision.recall", RememberedRevision.recall),
            ("RememberedNotification.recall", RememberedNotification.recall),
            ("RememberedNotification.add", RememberedNotification.add),
            ("CatalogTable.newestVersion", CatalogTable.newestVersion), ("CatalogTable.content", CatalogTable.content),
            ("CatalogTable.versions", CatalogTable.versions), ("CatalogTable.lock", CatalogTable.lock),
            ("CatalogTable.newest", CatalogTable.newest), ("CatalogTable.insert", CatalogTable.insert),
            ("CatalogProjection.read", CatalogProjection.read), ("CatalogProjection.begin", CatalogProjection.begin),
            ("CatalogProjection.reached", CatalogProjection.reached),
            ("CatalogProjection.finish", CatalogProjection.finish), ("CatalogProjection.sold", CatalogProjection.sold),
            ("EntitlementTable.remove", EntitlementTable.remove), ("EntitlementTable.read", EntitlementTable.read),
            ("HeldEntitlements.read", HeldEntitlements.read), ("ClosedPeriodTable.write", ClosedPeriodTable.write),
            ("ClosedPeriodTable.remove", ClosedPeriodTable.remove), ("ClosedPeriodTable.read", ClosedPeriodTable.read),
            ("GrantTable.add", GrantTable.add), ("GrantTable.revoke", GrantTable.revoke),
            ("StackedPurchaseTable.write", StackedPurchaseTable.write),
            ("StackedPurchaseTable.remove", StackedPurchaseTable.remove),
            ("StackedPurchaseTable.read", StackedPurchaseTable.read),
            ("StackedPurchaseTable.ofHolders", StackedPurchaseTable.ofHolders),
            ("LedgerTable.write", LedgerTable.write), ("LedgerTable.remove", LedgerTable.remove),
            ("LedgerTable.read", LedgerTable.read), ("AllPurchases.next", AllPurchases.next),
            ("AllPurchases.count", AllPurchases.count),
            ("AllPurchases.areWorkersConnected", AllPurchases.areWorkersConnected),
            ("EntitlementDetails.active", EntitlementDetails.active),
            ("EntitlementDetails.balances", EntitlementDetails.balances),
            ("EntitlementDetails.held", EntitlementDetails.held),
            ("EntitlementDetails.credited", EntitlementDetails.credited),
            ("UserDetails.versions", UserDetails.versions), ("UserDetails.grants", UserDetails.grants),
            ("UserDetails.balances", UserDetails.balances), ("UserDetails.debits", UserDetails.debits),
            ("UserDetails.otherEnvironments", UserDetails.otherEnvironments),
            ("UserDetails.changes", UserDetails.changes),
            ("UserDetails.changesOfTransaction", UserDetails.changesOfTransaction),
            ("UserDetails.known", UserDetails.known), ("RenewalTable.raise", RenewalTable.raise),
            ("RenewalTable.addSpans", RenewalTable.addSpans), ("RenewalTable.readFacts", RenewalTable.readFacts),
            ("RenewalTable.readSpans", RenewalTable.readSpans), ("RevisionTable.brought", RevisionTable.brought),
            ("NotificationTable.add", NotificationTable.add), ("AppDownloadTable.raise", AppDownloadTable.raise),
            ("TransactionTable.contradictions", TransactionTable.contradictions),
            ("TransactionTable.countPurchasersTokens", TransactionTable.countPurchasersTokens),
            ("TransactionTable.readOpen", TransactionTable.readOpen), ("ChangeTable.append", ChangeTable.append),
            ("OutboxTable.changes", OutboxTable.changes), ("OutboxTable.versions", OutboxTable.versions),
            ("OutboxTable.held", OutboxTable.held), ("OutboxTable.oldest", OutboxTable.oldest),
            ("OutboxTable.backlog", OutboxTable.backlog), ("FeedLeaseTable.hold", FeedLeaseTable.hold),
            ("FeedLeaseTable.shorten", FeedLeaseTable.shorten), ("FeedLeaseTable.renew", FeedLeaseTable.renew),
            ("FeedLeaseTable.confirm", FeedLeaseTable.confirm), ("FeedLeaseTable.republish", FeedLeaseTable.republish),
            ("FeedLeaseTable.release", FeedLeaseTable.release), ("FeedRepetitionTable.add", FeedRepetitionTable.add),
            ("FeedRepetitionTable.shorten", FeedRepetitionTable.shorten),
            ("FeedRepetitionTable.publishDue", FeedRepetitionTable.publishDue),
            ("Locks.sharedLinks", Locks.sharedLinks), ("Locks.afterSharedLinks", Locks.afterSharedLinks),
            ("Locks.sharedCatalog", Locks.sharedCatalog), ("Locks.afterSharedCatalog", Locks.afterSharedCatalog),
            ("Locks.accounts", Locks.accounts), ("Locks.ownership", Locks.ownership),
            ("Locks.projection", Locks.projection), ("Locks.users", Locks.users),
            ("AccountLinkTable.add", AccountLinkTable.add), ("AccountLinkTable.remove", AccountLinkTable.remove),
            ("AccountLinkTable.list", AccountLinkTable.list), ("AccountLinkTable.find", AccountLinkTable.find),
            ("LinkChangeTable.oldest", LinkChangeTable.oldest),
            ("LinkChangeTable.isAnythingDue", LinkChangeTable.isAnythingDue),
            ("LinkChangeTable.remove", LinkChangeTable.remove), ("LinkChangeTable.retry", LinkChangeTable.retry),
            ("LinkChangeTable.purchases", LinkChangeTable.purchases),
            ("LinkChangeTable.addAll", LinkChangeTable.addAll), ("LinkBacklog.changes", LinkBacklog.changes),
            ("LinkBacklog.purchases", LinkBacklog.purchases), ("LinkingRulesTable.write", LinkingRulesTable.write),
            ("LinkingRulesTable.read", LinkingRulesTable.read), ("OwnerChangeTable.record", OwnerChangeTable.record),
            ("OwnerChangeTable.take", OwnerChangeTable.take), ("OwnerChangeTable.putBack", OwnerChangeTable.putBack),
            ("OwnerChangeTable.removeProjected", OwnerChangeTable.removeProjected),
            ("OwnerTable.read", OwnerTable.read), ("OwnerTable.readWithChanges", OwnerTable.readWithChanges),
            ("OwnerTable.user", OwnerTable.user), ("OwnerTable.notify", OwnerTable.notify),
            ("AppTransactionGroupTable.owners", AppTransactionGroupTable.owners),
            ("AppTransactionGroupTable.dependants", AppTransactionGroupTable.dependants),
            ("OwnershipFactTables.raiseFacts", OwnershipFactTables.raiseFacts),
            ("OwnershipFactTables.raiseRenewals", OwnershipFactTables.raiseRenewals),
            ("OwnershipFactTables.raiseClaims", OwnershipFactTables.raiseClaims),
            ("OwnershipFactTables.replaceFacts", OwnershipFactTables.replaceFacts),
            ("OwnershipFactTables.replaceRenewals", OwnershipFactTables.replaceRenewals),
            ("OwnershipFactTables.readFacts", OwnershipFactTables.readFacts),
            ("OwnershipFactTables.readRenewals", OwnershipFactTables.readRenewals),
            ("OwnershipFactTables.readClaims", OwnershipFactTables.readClaims),
        ]

    private static let deadLetters: [Named] = [
        ("DeadLetterPruning.count", DeadLetterPruning.count), ("DeadLetterPruning.remove", DeadLetterPruning.remove),
        ("DeadLetterTable.shareStates", DeadLetterTable.shareStates),
        ("DeadLetterTable.upsert", DeadLetterTable.upsert), ("DeadLetterTable.addOthers", DeadLetterTable.addOthers),
        ("DeadLetterTable.search", DeadLetterTable.search),
        ("DeadLetterTable.searchCount", DeadLetterTable.searchCount),
        ("DeadLetterIndexTable.readReadings", DeadLetterIndexTable.readReadings),
        ("DeadLetterIndexTable.read", DeadLetterIndexTable.read),
        ("DeadLetterIndexTable.analyze", DeadLetterIndexTable.analyze),
        ("DeadLetterIndexTable.recordCount", DeadLetterIndexTable.recordCount),
        ("DeadLetterIndexTable.empty", DeadLetterIndexTable.empty),
        ("DeadLetterIndexTable.size", DeadLetterIndexTable.size),
        ("DeadLetterIndexTable.begin", DeadLetterIndexTable.begin),
        ("DeadLetterIndexTable.lock", DeadLetterIndexTable.lock),
        ("DeadLetterIndexTable.write", DeadLetterIndexTable.write),
        ("DeadLetterCounts.totalOfHours", DeadLetterCounts.totalOfHours),
        ("DeadLetterCounts.totalOfRows", DeadLetterCounts.totalOfRows),
        ("DeadLetterGroupTable.ofHours", DeadLetterGroupTable.ofHours),
        ("DeadLetterGroupTable.ofRows", DeadLetterGroupTable.ofRows),
        ("DeadLetterActionTable.appendDecisions", DeadLetterActionTable.appendDecisions),
        ("DeadLetterActionTable.appendReplays", DeadLetterActionTable.appendReplays),
        ("DeadLetterActionTable.decide", DeadLetterActionTable.decide),
        ("DeadLetterActionTable.ofLetter", DeadLetterActionTable.ofLetter),
        ("DeadLetterActionTable.redacted", DeadLetterActionTable.redacted),
        ("DeadLetterActionTable.redactedAmong", DeadLetterActionTable.redactedAmong),
        ("DeadLetterActionTable.ofAll", DeadLetterActionTable.ofAll),
        ("DeadLetterActionTable.standing", DeadLetterActionTable.standing), ("ReplayTable.add", ReplayTable.add),
        ("ReplayTable.setCount", ReplayTable.setCount), ("ReplayTable.setState", ReplayTable.setState),
        ("ReplayTable.newest", ReplayTable.newest), ("ReplayTable.get", ReplayTable.get),
        ("ReplayTable.acquire", ReplayTable.acquire), ("ReplayRecordTable.hold", ReplayRecordTable.hold),
        ("ReplayRecordTable.last", ReplayRecordTable.last), ("ReplayRecordTable.read", ReplayRecordTable.read),
        ("ReplayRecordTable.sent", ReplayRecordTable.sent), ("ReplayRecordTable.decide", ReplayRecordTable.decide),
        ("ReplayRecordTable.abandon", ReplayRecordTable.abandon),
        ("ReplayPositionTable.write", ReplayPositionTable.write),
        ("ReplayPositionTable.read", ReplayPositionTable.read),
    ]
}
