import AppStore
import Entitlements
import JSON
import OpenSSL

// The facts in an observation's head, each written and read. Track and trust are written once, in
// the head's `verification`: they apply to all of an observation's payloads.

extension SignedFacts {
    var isEmpty: Bool { transaction == nil && renewal == nil && appTransaction == nil }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if let transaction {
            writer.key("transaction")
            transaction.value.write(to: &writer)
        }
        if let renewal {
            writer.key("renewalInfo")
            renewal.write(to: &writer)
        }
        if let appTransaction {
            writer.key("appTransaction")
            appTransaction.write(to: &writer)
        }
        writer.endObject()
    }

    init(
        reading object: inout some HeadMembers,
        environment: Environment,
        bundleID: Identifier?,
        verification: VerificationFacts?
    ) throws(ObservationError) {
        guard let verification else { throw .member("verification") }
        let source = FactSource(
            environment: environment,
            bundleID: bundleID,
            track: Track(verification.method),
            trust: verification.trust
        )
        try self.init(
            transaction: object.optionalObject("transaction") { (fact) throws(ObservationError) in
                try TransactionFact(TransactionMembers(reading: &fact, source))
            },
            renewal: object.optionalObject("renewalInfo") { (fact) throws(ObservationError) in
                try RenewalFact(reading: &fact, source)
            },
            appTransaction: object.optionalObject("appTransaction") {
                (fact) throws(ObservationError) in
                try AppTransactionFact(reading: &fact, source)
            }
        )
    }
}

/// The head's members that all its facts share.
private struct FactSource {
    let environment: Environment
    /// Nil with a renewal info alone, which names no app.
    let bundleID: Identifier?
    let track: Track
    let trust: Trust

    func app() throws(ObservationError) -> Identifier {
        guard let bundleID else { throw .member("bundleID") }
        return bundleID
    }
}

extension JSONWriter {
    mutating func digest(_ digest: SHA256Digest) {
        let digits = digest.hexDigits
        string(plain: digits.span)
    }

    /// Writes the member only if there is a token.
    fileprivate mutating func optionalToken(_ name: StaticString, _ token: AccountToken?) {
        guard let text = token?.text else { return }
        key(name)
        string(plain: text.span)
    }
}

extension Revision {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.key("signedDate")
        writer.int(signedDate.milliseconds)
        writer.key("contentHash")
        writer.digest(contentHash)
    }

    fileprivate init(reading object: inout some HeadMembers) throws(ObservationError) {
        try self.init(
            signedDate: object.date("signedDate"),
            contentHash: object.digest("contentHash")
        )
    }
}

extension TransactionMembers {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("transactionID")
        writer.string(key.transactionID)
        revision.write(to: &writer)
        writer.key("originalTransactionID")
        writer.string(identity.originalTransactionID)
        writer.key("productID")
        writer.string(identity.productID)
        writer.key("purchaseDate")
        writer.int(identity.purchaseDate.milliseconds)
        writer.optionalString("type", identity.type?.rawValue)
        writer.optionalInt("quantity", identity.quantity)
        writer.optionalInt("expiresDate", expiresDate?.milliseconds)
        if let revocation {
            writer.key("revocation")
            revocation.write(to: &writer)
        }
        if let isUpgraded {
            writer.key("isUpgraded")
            writer.bool(isUpgraded)
        }
        writer.optionalString("ownershipType", ownershipType?.rawValue)
        writer.optionalString("subscriptionGroupID", subscriptionGroupID)
        writer.optionalString("webOrderLineItemID", webOrderLineItemID)
        writer.optionalString("transactionReason", transactionReason)
        writer.optionalString("additionalTransactionReason", additionalTransactionReason)
        writer.optionalInt("revokedSeatQuantity", revokedSeatQuantity)
        writer.optionalToken("appAccountToken", appAccountToken)
        writer.optionalString("appTransactionID", appTransactionID)
        if !items.isEmpty {
            writer.key("items")
            CommerceItem.write(items, to: &writer)
        }
        writer.endObject()
    }

    fileprivate init(
        reading object: inout some HeadMembers,
        _ source: FactSource
    ) throws(ObservationError) {
        try self.init(
            key: TransactionKey(
                environment: source.environment,
                bundleID: source.app(),
                transactionID: object.identifier("transactionID")
            ),
            track: source.track,
            revision: Revision(reading: &object),
            trust: source.trust,
            identity: TransactionIdentity(reading: &object)
        )
        expiresDate = try object.optionalDate("expiresDate")
        revocation = try object.optionalObject("revocation", Revocation.init(reading:))
        isUpgraded = try object.optionalBool("isUpgraded")
        ownershipType = try object.optionalIdentifier("ownershipType").map {
            OwnershipType(rawValue: $0.text)
        }
        subscriptionGroupID = try object.optionalIdentifier("subscriptionGroupID")
        webOrderLineItemID = try object.optionalIdentifier("webOrderLineItemID")
        transactionReason = try object.optionalIdentifier("transactionReason")?.text
        additionalTransactionReason = try object.optionalIdentifier("additionalTransactionReason")?
            .text
        revokedSeatQuantity = try object.optionalInt(
            "revokedSeatQuantity",
            in: Int32.min...Int32.max
        )
        appAccountToken = try object.optionalToken("appAccountToken")
        appTransactionID = try object.optionalIdentifier("appTransactionID")
        items = try object.optionalItems("items") ?? []
    }
}

extension TransactionIdentity {
    fileprivate init(reading object: inout some HeadMembers) throws(ObservationError) {
        try self.init(
            originalTransactionID: object.identifier("originalTransactionID"),
            productID: object.identifier("productID"),
            purchaseDate: object.date("purchaseDate"),
            type: object.optionalProductType("type"),
            quantity: object.optionalInt("quantity", in: Int32.min...Int32.max)
        )
    }
}

extension Revocation {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("date")
        writer.int(date.milliseconds)
        writer.optionalInt("percentage", percentage)
        writer.optionalInt("reason", reason)
        writer.optionalString("type", type)
        writer.endObject()
    }

    fileprivate init(reading object: inout some HeadMembers) throws(ObservationError) {
        try self.init(
            date: object.date("date"),
            percentage: object.optionalInt("percentage", in: 0...Self.wholePercentage),
            reason: object.optionalInt("reason", in: Int32.min...Int32.max),
            type: object.optionalString("type")
        )
    }
}

extension RenewalFact {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("originalTransactionID")
        writer.string(key.originalTransactionID)
        revision.write(to: &writer)
        writer.optionalString("productID", productID)
        writer.optionalString("autoRenewProductID", autoRenewProductID)
        writer.optionalInt("autoRenewStatus", autoRenewStatus)
        if let isInBillingRetry {
            writer.key("isInBillingRetry")
            writer.bool(isInBillingRetry)
        }
        writer.optionalInt("expirationIntent", expirationIntent)
        writer.optionalInt("renewalDate", renewalDate?.milliseconds)
        writer.optionalInt("gracePeriodExpiresDate", gracePeriodExpiresDate?.milliseconds)
        writer.optionalToken("appAccountToken", appAccountToken)
        writer.optionalString("appTransactionID", appTransactionID)
        writer.endObject()
    }

    fileprivate init(
        reading object: inout some HeadMembers,
        _ source: FactSource
    ) throws(ObservationError) {
        let original = try object.identifier("originalTransactionID")
        try self.init(
            key: RenewalKey(
                environment: source.environment,
                originalTransactionID: original,
                trust: source.trust
            ),
            revision: Revision(reading: &object),
            productID: object.optionalIdentifier("productID"),
            autoRenewProductID: object.optionalIdentifier("autoRenewProductID"),
            autoRenewStatus: object.optionalInt("autoRenewStatus", in: Int32.min...Int32.max),
            isInBillingRetry: object.optionalBool("isInBillingRetry"),
            expirationIntent: object.optionalInt("expirationIntent", in: Int32.min...Int32.max),
            renewalDate: object.optionalDate("renewalDate"),
            gracePeriodExpiresDate: object.optionalDate("gracePeriodExpiresDate"),
            appAccountToken: object.optionalToken("appAccountToken"),
            appTransactionID: object.optionalIdentifier("appTransactionID")
        )
    }
}

extension AppTransactionFact {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        revision.write(to: &writer)
        writer.optionalString("appTransactionID", appTransactionID)
        writer.optionalString("originalApplicationVersion", originalApplicationVersion)
        writer.optionalInt("originalPurchaseDate", originalPurchaseDate?.milliseconds)
        writer.optionalString("originalPlatform", originalPlatform)
        writer.optionalInt("preorderDate", preorderDate?.milliseconds)
        writer.optionalString("applicationVersion", applicationVersion)
        writer.endObject()
    }

    fileprivate init(
        reading object: inout some HeadMembers,
        _ source: FactSource
    ) throws(ObservationError) {
        try self.init(
            environment: source.environment,
            bundleID: source.app(),
            track: source.track,
            revision: Revision(reading: &object),
            trust: source.trust,
            appTransactionID: object.optionalIdentifier("appTransactionID"),
            originalApplicationVersion: object.optionalString("originalApplicationVersion"),
            originalPurchaseDate: object.optionalDate("originalPurchaseDate"),
            originalPlatform: object.optionalString("originalPlatform"),
            preorderDate: object.optionalDate("preorderDate"),
            applicationVersion: object.optionalString("applicationVersion")
        )
    }
}
