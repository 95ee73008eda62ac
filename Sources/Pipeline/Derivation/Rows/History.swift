import AppStore
import Entitlements
import Records
import Store

/// The additions of a batch to the history: contents, notifications, and the newest app
/// transaction of each account and app.
struct History {
    /// The first contents of transactions that are not stored yet.
    private(set) var firstRevisions: [RevisionTable.Row] = []
    private(set) var revisions: [RevisionTable.Row] = []
    private(set) var notifications: [NotificationTable.Row] = []
    private var newestDownloads: [AppTransactionGroup: AppTransactionFact] = [:]

    var downloads: [AppTransactionFact] { Array(newestDownloads.values) }

    mutating func add(_ fact: TransactionFact, isFirst: Bool, _ payload: ArraySlice<UInt8>, of record: EntitleRecord) {
        let row: RevisionTable.Row = (
            kind: .transaction, environment: record.environment, bundleID: fact.key.bundleID,
            id: fact.key.transactionID, trust: "", track: fact.track, revision: fact.revision, payload: payload,
            notificationUUID: record.notification?.uuid, source: record.source
        )
        if isFirst { firstRevisions.append(row) } else { revisions.append(row) }
    }

    mutating func add(_ fact: RenewalFact, _ payload: ArraySlice<UInt8>, of record: EntitleRecord) {
        revisions.append(
            (
                kind: .renewal, environment: record.environment, bundleID: "", id: fact.key.originalTransactionID,
                trust: fact.key.trust.text, track: .jws, revision: fact.revision, payload: payload,
                notificationUUID: record.notification?.uuid, source: record.source
            ))
    }

    /// Adds an app transaction; one without an `appTransactionId` (signed before 2025) goes to
    /// `revisions` alone.
    mutating func add(_ fact: AppTransactionFact, _ payload: ArraySlice<UInt8>, of record: EntitleRecord) {
        revisions.append(
            (
                kind: .appTransaction, environment: fact.environment, bundleID: fact.bundleID, id: fact.id, trust: "",
                track: fact.track, revision: fact.revision, payload: payload,
                notificationUUID: record.notification?.uuid, source: record.source
            ))
        guard let group = fact.group else { return }
        if let known = newestDownloads[group], known.revision >= fact.revision { return }
        newestDownloads[group] = fact
    }

    /// Adds a notification; one without a UUID is stored under its record's position.
    mutating func add(_ notification: ObservedNotification, _ meaning: NotificationMeaning, of record: EntitleRecord) {
        let source = record.source
        let position = source.map { "\($0.position)/\($0.index)" }
        notifications.append(
            (
                environment: record.environment, uuid: notification.uuid?.lowercased() ?? position,
                bundleID: record.bundleID, type: notification.type, subtype: notification.subtype, meaning: meaning,
                signedDate: notification.signedDate, originalTransactionID: record.scope?.originalTransactionID,
                transactionID: record.transaction?.key.transactionID,
                consumptionRequestReason: notification.consumptionRequestReason, source: source
            ))
    }
}
