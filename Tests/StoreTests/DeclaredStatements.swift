import Postgres
import Testing

@testable import Store

/// Every statement of the store.
enum DeclaredStatements {
    static let all: [any DeclaredStatement] =
        reading + rereading + recovery + deadLetters + upserts
        + [SessionLock.linkOutbox, .catalogProjection, .recovery].flatMap(of) + DeadLetterGrouping.allCases.flatMap(of)
        + DedupeForgetting.Table.allCases.flatMap(of)
        + [DeadLetterTable.Order.newestFirst, .oldestFirst].flatMap { order in
            [DeadLetterTable.page(order), DeadLetterTable.pageByHours(order)]
        }

    private static func of(_ table: DedupeForgetting.Table) -> [any DeclaredStatement] {
        [
            DedupeForgetting.pageCount(of: table), DedupeForgetting.count(in: table),
            DedupeForgetting.delete(from: table),
        ]
    }

    private static func of(_ lock: SessionLock) -> [any DeclaredStatement] { [lock.acquire, lock.release] }

    private static func of(_ grouping: DeadLetterGrouping) -> [any DeclaredStatement] {
        [true, false].map { DeadLetterCounts.counting(by: grouping, fromHours: $0) }
    }

    private static func of<Row>(_ table: Upsert<Row>) -> [any DeclaredStatement] { [table.upsert, table.insert] }

    private static let upserts: [any DeclaredStatement] =
        of(RememberedRevision.raise) + of(EntitlementTable.write) + of(RevisionTable.add) + of(TransactionTable.raise)
        + of(OwnerTable.write) + of(OwnershipFactTables.raiseFacts)

    private static let rereading: [any DeclaredStatement] = [
        TransactionTable.read, TransactionTable.scopes, TransactionTable.replace, RenewalTable.read,
        RenewalTable.replace, RenewalTable.removeSpans, AppDownloadTable.next, AppDownloadTable.replace,
        RevisionTable.newest, RevisionTable.stating, RevisionTable.older, RevisionTable.payloads,
        RevisionTable.unclaimed, ForgottenUserTable.tokens,
    ]

    private static let recovery: [any DeclaredStatement] = [
        AppleNotificationTable.list, AppleNotificationTable.published, AppleNotificationTable.settle,
        AppleNotificationTable.prune, AppleAccountTable.counts, AppleAccountTable.missing, AppleAccountTable.open,
        RecoveryWindowTable.configure, RecoveryWindowTable.begin, RecoveryWindowTable.due, RecoveryWindowTable.clip,
        RecoveryWindowTable.advance, RecoveryWindowTable.delay, RecoveryWindowTable.finish, RecoveryLimitTable.hold,
        RecoveryLimitTable.held, RecoveryLimitTable.lift, RecoveryLimitTable.due, RecoveryWindowTable.states,
        RecoveryRequestTable.add, RecoveryRequestTable.addStale, RecoveryRequestTable.due,
        RecoveryRequestTable.awaitOwner, RecoveryRequestTable.advance, RecoveryRequestTable.finish,
        RecoveryRequestTable.delay, RecoveryRequestTable.prune, RecoveryRequestTable.states,
        RecoveryRequestTable.counts, RecoveryRequestTable.unfinished, RecoveryRequestTable.addTokens,
        RecoveryRequestTable.withdrawTokens, RecoveryRequestTable.tokenToSet, RecoveryRequestTable.tokenCounts,
        RecoveryRequestTable.tokenStates, ImportTable.add, ImportTable.counts, ImportTable.open,
        RefundRequestTable.read, RefundRequestTable.credits, RefundRequestTable.debits, RefundRequestTable.store,
        RefundRequestTable.wait, RefundRequestTable.end, RefundRequestTable.counts, RefundTable.list,
        RefundTable.listWithoutUsers, RefundTable.ofPurchases, RefundTable.count, RefundTable.decide, UserPurchases.all,
    ]

    private static let reading: [any DeclaredStatement] = [
        SupportAnswers.user, SupportAnswers.transaction, SupportAnswers.stored, FeedRecovery.raise, FeedRecovery.begin,
        FeedRecovery.queue, ForgottenUserTable.forget, ForgottenUserTable.among, DedupeForgetting.prune,
        DedupeForgetting.now, RememberedRevision.recall, RememberedNotification.recall, RememberedNotification.add,
        CatalogTable.newestVersion, CatalogTable.content, CatalogTable.former, CatalogTable.versions, CatalogTable.lock,
        CatalogTable.newest, CatalogTable.insert, CatalogTable.sign, CatalogProjection.read, CatalogProjection.begin,
        CatalogProjection.reached, CatalogProjection.finish, CatalogProjection.sold, EntitlementTable.remove,
        EntitlementTable.read, HeldEntitlements.read, ClosedPeriodTable.write, ClosedPeriodTable.remove,
        ClosedPeriodTable.read, GrantTable.isKnown, GrantTable.knownKeys, GrantTable.add, GrantTable.revoke,
        StackedPurchaseTable.write, StackedPurchaseTable.remove, StackedPurchaseTable.read,
        StackedPurchaseTable.ofHolders, LedgerTable.write, LedgerTable.remove, LedgerTable.read, AllPurchases.next,
        AllPurchases.count, AllPurchases.areWorkersConnected, EntitlementDetails.active, EntitlementDetails.balances,
        EntitlementDetails.held, EntitlementDetails.credited, RenewalTable.raise, RenewalTable.addSpans,
        RenewalTable.readFacts, RenewalTable.readSpans, RevisionTable.brought, NotificationTable.add,
        AppDownloadTable.raise, TransactionTable.contradictions, TransactionTable.countPurchasersTokens,
        TransactionTable.readOpen, ChangeTable.append, BoundaryColumns.announce, OutboxTable.changes, OutboxTable.held,
        OutboxTable.subscriptions, OutboxTable.oldest, OutboxTable.backlog, FeedLeaseTable.hold, FeedLeaseTable.shorten,
        FeedLeaseTable.renew, FeedLeaseTable.confirm, FeedLeaseTable.republish, FeedLeaseTable.release,
        FeedRepetitionTable.add, FeedRepetitionTable.shorten, FeedRepetitionTable.publishDue, Locks.sharedLinks,
        Locks.afterSharedLinks, Locks.sharedCatalog, Locks.afterSharedCatalog, Locks.accounts, Locks.ownership,
        Locks.projection, Locks.users, AccountLinkTable.put, AccountLinkTable.insert, AccountLinkTable.move,
        AccountLinkTable.remove, AccountLinkTable.list, AccountLinkTable.history, AccountLinkTable.find,
        AccountLinkTable.kinds, LinkChangeTable.oldest, LinkChangeTable.isAnythingDue, LinkChangeTable.remove,
        LinkChangeTable.retry, LinkChangeTable.purchases, LinkChangeTable.addAll, LinkBacklog.changes,
        LinkBacklog.purchases, LinkingRulesTable.write, LinkingRulesTable.read, OwnerChangeTable.record,
        OwnerChangeTable.take, OwnerChangeTable.putBack, OwnerChangeTable.removeProjected, OwnerTable.read,
        OwnerTable.readWithChanges, OwnerTable.user, OwnerTable.notify, AppTransactionGroupTable.owners,
        AppTransactionGroupTable.dependants, OwnershipFactTables.raiseRenewals, OwnershipFactTables.raiseClaims,
        OwnershipFactTables.replaceFacts, OwnershipFactTables.replaceRenewals, OwnershipFactTables.readFacts,
        OwnershipFactTables.readRenewals, OwnershipFactTables.readClaims, OwnershipFactTables.readRestores,
        PlanTables.addRows, PlanTables.addCredits, PlanTables.join, PlanTables.users, PlanTables.losingCount,
        PlanTables.samples, PlanTables.purchases, PlanTables.balances, PlanTables.digest, PlanTables.happened,
        PlanTable.add, PlanTable.read, PlanTable.catalog, PlanTable.list, PlanTable.since, CatalogProjection.progress,
        PlanTables.forget, PlanTables.concernOwned, PlanTables.concernStacked, PlanTables.concerned,
        PlanTables.concernedAmong,
    ]

    private static let deadLetters: [any DeclaredStatement] = [
        DeadLetterPruning.count, DeadLetterPruning.remove, DeadLetterTable.shareStates, DeadLetterTable.upsert,
        DeadLetterTable.addOthers, DeadLetterTable.search, DeadLetterTable.searchCount, DeadLetterTable.answer,
        DeadLetterIndexTable.readReadings, DeadLetterIndexTable.read, DeadLetterIndexTable.analyze,
        DeadLetterIndexTable.recordCount, DeadLetterIndexTable.empty, DeadLetterIndexTable.size,
        DeadLetterIndexTable.begin, DeadLetterIndexTable.lock, DeadLetterIndexTable.write,
        DeadLetterCounts.totalOfHours, DeadLetterCounts.totalOfRows, DeadLetterGroupTable.ofHours,
        DeadLetterGroupTable.ofRows, DeadLetterActionTable.appendDecisions, DeadLetterActionTable.appendReplays,
        DeadLetterActionTable.decide, DeadLetterActionTable.redacted, DeadLetterActionTable.redactedAmong,
        DeadLetterActionTable.ofAll, ReplayTable.add, ReplayTable.setCount, ReplayTable.setState, ReplayTable.newest,
        ReplayTable.get, ReplayTable.acquire, ReplayRecordTable.hold, ReplayRecordTable.last, ReplayRecordTable.read,
        ReplayRecordTable.sent, ReplayRecordTable.decide, ReplayRecordTable.abandon, ReplayRecordTable.refused,
    ]
}
