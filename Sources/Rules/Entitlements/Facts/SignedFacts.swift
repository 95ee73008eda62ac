package import AppStore
import JSON

/// The facts of signed payloads: the input of all stages after the verifier.
///
/// Only `init(of:environment:bundleID:verification:)` turns Apple's bytes into facts. `verify-worker` calls it to
/// write an observation's head. `pipeline rebuild` calls it, in the form with track and trust, on the contents in the
/// table `revisions`. The initializer without payloads is for readers of facts that were written this way.
package struct SignedFacts: Equatable, Sendable {
    package let transaction: TransactionFact?
    package let renewal: RenewalFact?
    package let appTransaction: AppTransactionFact?

    package init(
        transaction: TransactionFact? = nil, renewal: RenewalFact? = nil, appTransaction: AppTransactionFact? = nil
    ) {
        self.transaction = transaction
        self.renewal = renewal
        self.appTransaction = appTransaction
    }

    /// Reads payloads that the verifier has accepted.
    ///
    /// - Parameters:
    ///   - bundleID: the app that the verifier found; `nil` for a renewal info alone.
    ///   - verification: the root that vouched for all payloads, and the form of their signature.
    /// - Throws: an error if a payload lacks a field that the verifier requires of its kind.
    package init(
        of payloads: SignedPayloads, environment: Environment, bundleID: Identifier?, verification: VerificationFacts
    ) throws(IncompletePayload) {
        try self.init(
            of: payloads, environment: environment, bundleID: bundleID, track: Track(verification.method),
            trust: verification.trust, signer: environment.signer(verification.trust))
    }

    /// Reads payloads if the track and the trust are all that is known of the verification.
    ///
    /// - Parameter signer: the suffix of the IDs; empty for facts of a program before 1.4.
    package init(
        of payloads: SignedPayloads, environment: Environment, bundleID: Identifier?, track: Track, trust: Trust,
        signer: String
    ) throws(IncompletePayload) {
        let source = FactSource(
            environment: environment, bundleID: bundleID, track: track, trust: trust, signer: signer)
        transaction = try payloads.transaction.map(source.transaction)
        renewal = try payloads.renewalInfo.map(source.renewal)
        appTransaction = try payloads.appTransaction.map(source.appTransaction)
    }

    /// The purchase in the facts.
    ///
    /// `nil` if the facts name no purchase.
    package var originalTransactionID: Identifier? {
        transaction?.identity.originalTransactionID ?? renewal?.key.originalTransactionID
    }
}

/// The error for a payload without a field that the verifier requires of its kind.
package struct IncompletePayload: Error, Hashable { package let payload: SignedPayloadKind }

/// The properties shared by all payloads of one item.
private struct FactSource {
    let environment: Environment
    let bundleID: Identifier?
    let track: Track
    let trust: Trust
    let signer: String

    func transaction(_ payload: ReadPayload<TransactionPayload>) throws(IncompletePayload) -> TransactionFact {
        guard let signedDate = payload.fields.signedDate, let bundleID,
            let fact = TransactionFact(
                payload.fields, revision: revision(of: payload.json, signedDate), environment: environment,
                bundleID: bundleID, track: track, trust: trust)
        else { throw IncompletePayload(payload: .transaction) }
        guard !signer.isEmpty else { return fact }
        var members = fact.value
        members.key.transactionID = withSigner(members.key.transactionID)
        members.identity.originalTransactionID = withSigner(members.identity.originalTransactionID)
        members.appTransactionID = members.appTransactionID.map(withSigner)
        return TransactionFact(members)
    }

    func renewal(_ payload: ReadPayload<RenewalPayload>) throws(IncompletePayload) -> RenewalFact {
        guard let signedDate = payload.fields.signedDate,
            var fact = RenewalFact(
                payload.fields, revision: revision(of: payload.json, signedDate), environment: environment, trust: trust
            )
        else { throw IncompletePayload(payload: .renewalInfo) }
        fact.key.originalTransactionID = withSigner(fact.key.originalTransactionID)
        fact.appTransactionID = fact.appTransactionID.map(withSigner)
        return fact
    }

    func appTransaction(_ payload: ReadPayload<AppTransactionPayload>) throws(IncompletePayload) -> AppTransactionFact {
        let fields = payload.fields
        guard let signedDate = fields.signedDate, let bundleID else {
            throw IncompletePayload(payload: .appTransaction)
        }
        var fact = AppTransactionFact(
            environment: environment, bundleID: bundleID, track: track,
            revision: revision(of: payload.json, signedDate), trust: trust,
            appTransactionID: (fields.appTransactionID?.identifier).map(withSigner))
        fact.originalApplicationVersion = fields.originalApplicationVersion?.string
        fact.originalPurchaseDate = fields.originalPurchaseDate
        fact.originalPlatform = fields.originalPlatform?.string
        fact.preorderDate = fields.preorderDate
        fact.applicationVersion = fields.applicationVersion?.string
        return fact
    }

    /// The ID with its signer.
    private func withSigner(_ id: Identifier) -> Identifier { signer.isEmpty ? id : Identifier(id.text + signer) }

    private func revision(of payload: JSONValue, _ signedDate: Timestamp) -> Revision {
        Revision(signedDate: signedDate, contentHash: ContentHash.of(payload))
    }
}

extension Environment {
    /// The suffix of the IDs that a certificate signs; empty for IDs that Apple assigns once.
    ///
    /// Xcode numbers the transactions of each computer from 0, so its IDs belong to the certificate that signed them.
    package func signer(_ trust: Trust) -> String { reusesIDs && trust != .apple ? "@" + trust.text.prefix(16) : "" }
}
