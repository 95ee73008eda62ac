import AppStore
import Entitlements
import JSON
import OpenSSL

// The facts in an observation's head, each with its writer and reader. Track and trust are written once, in the head's
// `verification`: they apply to all of an observation's payloads.

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
        reading object: inout some HeadMembers, environment: Environment, bundleID: Identifier?,
        verification: VerificationFacts?
    ) throws(ObservationError) {
        guard let verification else { throw .member("verification") }
        let shared = SharedMembers(
            environment: environment, bundleID: bundleID, track: Track(verification.method), trust: verification.trust)
        try self.init(
            transaction: object.optionalObject("transaction") { (fact) throws(ObservationError) in
                try TransactionFact(TransactionMembers(reading: &fact, shared))
            },
            renewal: object.optionalObject("renewalInfo") { (fact) throws(ObservationError) in
                try RenewalFact(reading: &fact, shared)
            },
            appTransaction: object.optionalObject("appTransaction") { (fact) throws(ObservationError) in
                try AppTransactionFact(reading: &fact, shared)
            })
    }
}

/// The members of the head that apply to all its facts.
private struct SharedMembers {
    let environment: Environment
    /// The bundle ID of the app.
    ///
    /// `nil` for a renewal info alone, which names no app.
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
}

extension Revision {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.key("signedDate")
        writer.int(signedDate.milliseconds)
        writer.key("contentHash")
        writer.digest(contentHash)
    }

    fileprivate init(reading object: inout some HeadMembers) throws(ObservationError) {
        try self.init(signedDate: object.date("signedDate"), contentHash: object.digest("contentHash"))
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
        var members = self
        members.visitMembers(&writer)
        writer.endObject()
    }

    fileprivate init(reading object: inout some HeadMembers, _ shared: SharedMembers) throws(ObservationError) {
        try self.init(
            key: TransactionKey(
                environment: shared.environment, bundleID: shared.app(),
                transactionID: object.identifier("transactionID")), track: shared.track,
            revision: Revision(reading: &object), trust: shared.trust, identity: TransactionIdentity(reading: &object))
        try visitMembers(&object)
    }
}

extension TransactionIdentity {
    fileprivate init(reading object: inout some HeadMembers) throws(ObservationError) {
        try self.init(
            originalTransactionID: object.identifier("originalTransactionID"),
            productID: object.identifier("productID"), purchaseDate: object.date("purchaseDate"),
            type: object.optionalProductType("type"),
            quantity: object.optionalInt("quantity", in: Int32.min...Int32.max))
    }
}

extension RenewalFact {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("originalTransactionID")
        writer.string(key.originalTransactionID)
        revision.write(to: &writer)
        var members = self
        members.visitMembers(&writer)
        writer.endObject()
    }

    fileprivate init(reading object: inout some HeadMembers, _ shared: SharedMembers) throws(ObservationError) {
        let original = try object.identifier("originalTransactionID")
        try self.init(
            key: RenewalKey(environment: shared.environment, originalTransactionID: original, trust: shared.trust),
            revision: Revision(reading: &object))
        try visitMembers(&object)
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

    fileprivate init(reading object: inout some HeadMembers, _ shared: SharedMembers) throws(ObservationError) {
        try self.init(
            environment: shared.environment, bundleID: shared.app(), track: shared.track,
            revision: Revision(reading: &object), trust: shared.trust,
            appTransactionID: object.optionalIdentifier("appTransactionID"))
        originalApplicationVersion = try object.optionalString("originalApplicationVersion")
        originalPurchaseDate = try object.optionalDate("originalPurchaseDate")
        originalPlatform = try object.optionalString("originalPlatform")
        preorderDate = try object.optionalDate("preorderDate")
        applicationVersion = try object.optionalString("applicationVersion")
    }
}
