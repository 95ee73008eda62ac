package import JSON
package import OpenSSL

package enum VerifiedBody: Sendable {
    /// The body contains no purchase.
    case ignored(IgnoreReason)
    /// The items in the order of the body, at least one.
    case items([VerifiedItem])
    /// Every other rule has passed, but the decision needs the status of these certificates.
    case undetermined(Set<SHA256Digest>)

    package enum IgnoreReason: String, Sendable {
        /// An API response without items.
        case emptyResponse = "empty_response"
        /// A genuine receipt without in-app purchases.
        case emptyReceipt = "empty_receipt"
        /// A genuine body of an unknown kind, or without the name of an app to record it under.
        case unknownKind = "unknown_kind"
    }
}

/// The part of a verified body that becomes one observation.
///
/// An item is a transaction with its paired renewal info, a renewal info alone, an app transaction, or a notification
/// without any of them.
package struct VerifiedItem: Sendable {
    package let environment: Environment
    /// The app's bundle ID.
    ///
    /// `nil` for a renewal info alone, which names no app.
    package let bundleID: Identifier?
    package private(set) var transaction: ReadPayload<TransactionPayload>?
    package private(set) var renewalInfo: ReadPayload<RenewalPayload>?
    package private(set) var appTransaction: ReadPayload<AppTransactionPayload>?
    package private(set) var notification: ReadPayload<NotificationPayload>?
    private var notificationSignedDate: Timestamp?
    /// The receipt's fields about the app.
    ///
    /// `nil` if the transaction is not from a receipt, or another item of the receipt contains the fields.
    package private(set) var receipt: JSONValue?
    private var receiptMalformedFields = 0
    package let verification: VerificationFacts
    package let claims: ObservationClaims

    private init(_ principal: SignedStatement, _ claims: ObservationClaims) {
        environment = principal.environment
        bundleID = principal.app?.bundleID
        verification = principal.verification
        self.claims = claims
    }

    /// An in-app record of a receipt.
    ///
    /// - Parameter namesApp: whether the item contains the receipt's fields about the app.
    init(_ record: ReceiptRecord, of receipt: VerifiedReceipt, _ claims: ObservationClaims, naming namesApp: Bool) {
        environment = receipt.environment
        bundleID = receipt.bundleID
        verification = receipt.verification
        self.claims = claims
        self.receipt = namesApp ? receipt.contents.json : nil
        transaction = ReadPayload(record.json, record.fields)
        receiptMalformedFields = record.malformedFields + receipt.contents.malformedFields
    }

    /// Number of fields with a wrong type or value; the payload contains them unchanged.
    package var malformedFields: Int {
        (transaction?.fields.malformedFields ?? 0) + (renewalInfo?.fields.malformedFields ?? 0)
            + (appTransaction?.fields.malformedFields ?? 0) + (notification?.fields.malformedFields ?? 0)
            + receiptMalformedFields
    }

    /// The observations of one item's statements, which are consistent with each other.
    static func items(_ statements: [SignedStatement], claims: ObservationClaims) -> [VerifiedItem] {
        var items: [VerifiedItem] = []
        let purchase =
            statements.first { $0.fields.kind == .transaction } ?? statements.first { $0.fields.kind == .renewalInfo }
        if let purchase { items.append(VerifiedItem(purchase, claims)) }
        for statement in statements where statement.fields.kind == .appTransaction {
            items.append(VerifiedItem(statement, claims))
        }
        if items.isEmpty, let notification = statements.first { items.append(VerifiedItem(notification, claims)) }
        for statement in statements {
            for index in items.indices { items[index].add(statement, isPurchase: purchase != nil && index == 0) }
        }
        return items
    }

    private mutating func add(_ statement: SignedStatement, isPurchase: Bool) {
        switch statement.fields {
        case .transaction(let fields) where isPurchase: transaction = ReadPayload(statement.json, fields)
        case .renewalInfo(let fields) where isPurchase: renewalInfo = ReadPayload(statement.json, fields)
        case .appTransaction(let fields) where !isPurchase: appTransaction = ReadPayload(statement.json, fields)
        case .notification(let fields):
            notification = ReadPayload(statement.json, fields)
            notificationSignedDate = statement.signedDate
        case .transaction, .renewalInfo, .appTransaction: break
        }
    }
}

extension VerifiedItem {
    /// The notification's facts for an observation.
    ///
    /// `nil` without a notification.
    package var observedNotification: ObservedNotification? {
        guard let fields = notification?.fields, let notificationSignedDate else { return nil }
        return ObservedNotification(
            type: fields.type?.string ?? "", subtype: fields.subtype?.string, uuid: fields.uuid?.string,
            signedDate: notificationSignedDate, consumptionRequestReason: fields.data?.consumptionRequestReason?.string)
    }
}
