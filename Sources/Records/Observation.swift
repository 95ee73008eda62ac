package import AppStore
package import JSON

/// One verified statement of Apple's, as it travels through `verified`, `unique` and `linked`.
///
/// It holds a transaction with the renewal info that came with it, a renewal info alone, an app
/// transaction, a notification without either, or (from `link-worker`) no payload at all but the
/// name of a purchase whose owner changed. Payloads are spliced in and out in the exact bytes that
/// Apple signed: fields that Apple adds later survive all stages. A receipt's record, which Apple
/// signs as ASN.1, is a transaction of the same shape.
package struct Observation: Sendable {
    /// Nil where no body says it: the name of a purchase whose owner changed.
    package var source: ObservationSource?
    package var environment: Environment
    /// Nil for a renewal info alone, which names no app.
    package var bundleID: String?
    package var transaction: JSONValue?
    package var renewalInfo: JSONValue?
    package var appTransaction: JSONValue?
    /// What the receipt says of the app, where the transaction is a record of one: attributes by
    /// the names of an app transaction's members, the others in base64.
    package var receipt: JSONValue?
    package var notification: ObservedNotification?
    /// Nil where nobody signed it: the name of a purchase whose owner changed.
    package var verification: VerificationFacts?
    package var claims: ObservationClaims
    /// The user whom the ingestion service named in the raw record's header, where the operator
    /// trusts it; beside the raw record's position in `source`.
    package var ingestUserID: String?
    /// Set from `link-worker` on.
    package var owner: ObservedOwner?
    /// Set on an observation that carries no payload: the purchase whose owner changed.
    package var relinkedPurchase: String?
    /// A duplicate that travels on only so that the one who waits for it is answered.
    package var isDuplicate: Bool

    package init(
        source: ObservationSource?,
        environment: Environment,
        bundleID: String?,
        transaction: JSONValue? = nil,
        renewalInfo: JSONValue? = nil,
        appTransaction: JSONValue? = nil,
        receipt: JSONValue? = nil,
        notification: ObservedNotification? = nil,
        verification: VerificationFacts?,
        claims: ObservationClaims = ObservationClaims(),
        ingestUserID: String? = nil,
        owner: ObservedOwner? = nil,
        relinkedPurchase: String? = nil,
        isDuplicate: Bool = false
    ) {
        self.source = source
        self.environment = environment
        self.bundleID = bundleID
        self.transaction = transaction
        self.renewalInfo = renewalInfo
        self.appTransaction = appTransaction
        self.receipt = receipt
        self.notification = notification
        self.verification = verification
        self.claims = claims
        self.ingestUserID = ingestUserID
        self.owner = owner
        self.relinkedPurchase = relinkedPurchase
        self.isDuplicate = isDuplicate
    }

    /// The version that `encode()` writes.
    package static let schemaVersion: Int64 = 1

    /// The versions that `init(decoding:)` accepts: its own and the one before.
    ///
    /// So workers of two versions can run side by side. The first version has none before it.
    package static let readableVersions = max(1, schemaVersion - 1)...schemaVersion

    /// The purchase this is about: the transaction's, else the renewal info's, else the relinked
    /// one.
    package var originalTransactionID: String? {
        transaction?["originalTransactionId"]?.string
            ?? renewalInfo?["originalTransactionId"]?.string
            ?? relinkedPurchase
    }
}
