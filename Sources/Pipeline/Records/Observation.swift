package import AppStore
package import Entitlements

/// A verified statement by Apple on the topics `verified`, `unique` and `linked`.
///
/// An observation contains a transaction with its renewal info, a renewal info alone, an app transaction, or a
/// notification without either. An observation of `link-worker` may contain no payload, but only the name of a
/// purchase whose owner changed. A receipt's record, which Apple signs as ASN.1, becomes a transaction of the same
/// shape.
///
/// The Kafka record has two parts. The head is the whole input of the later stages; the payloads are Apple's signed
/// bytes, unchanged, which preserves fields that Apple adds later. Only the initializer with payloads makes an
/// observation with payloads, and it computes the facts, so a head always matches its payloads.
package struct Observation: Sendable {
    /// The body, and the observation's index in it.
    ///
    /// `nil` for a link observation, which has no body.
    package var source: ObservationSource?
    package let environment: Environment
    /// The bundle ID of the app.
    ///
    /// `nil` for a renewal info alone, which names no app.
    package let bundleID: Identifier?
    /// The verifier's findings about the signature.
    ///
    /// `nil` for a link observation, which is not signed.
    package let verification: VerificationFacts?
    package let facts: Shared<SignedFacts>
    package let payloads: ObservationPayloads
    package var notification: ObservedNotification?
    package var claims: ObservationClaims
    /// The user that the ingestion service named in the raw record's header, if the operator trusts the service;
    /// always set together with the raw record's position in `source`.
    package var ingestUserID: Identifier?
    /// The purchase whose owner changed; set only on a link observation, which has no payload.
    package let relinkedPurchase: Identifier?
    /// Whether this is a duplicate that is forwarded only to answer a waiting request.
    package var isDuplicate: Bool
    /// The purchase's owner, set by `link-worker` and later stages.
    package var owner: ObservedOwner?
    /// The input record of the stage after `verify-worker` that made the observation.
    package var input: InputPosition?
    /// The range of the head's last member `input`, with its comma, in the value that was read; empty if absent.
    ///
    /// `nil` if no value was read, if the head has another form, or if the head already has a member that a stage adds
    /// before `input`.
    package let inputRange: Range<Int>?

    /// Makes the observation of accepted payloads.
    ///
    /// - Throws: an error if a payload lacks a field that the verifier requires of its kind.
    package init(
        _ payloads: SignedPayloads, source: ObservationSource, environment: Environment, bundleID: Identifier?,
        verification: VerificationFacts, notification: ObservedNotification? = nil,
        claims: ObservationClaims = ObservationClaims(), ingestUserID: Identifier? = nil
    ) throws(IncompletePayload) {
        facts = try Shared(
            SignedFacts(of: payloads, environment: environment, bundleID: bundleID, verification: verification))
        self.payloads = ObservationPayloads(payloads)
        self.source = source
        self.environment = environment
        self.bundleID = bundleID
        self.verification = verification
        self.notification = notification
        self.claims = claims
        self.ingestUserID = ingestUserID
        relinkedPurchase = nil
        isDuplicate = false
        inputRange = nil
    }

    /// Makes the observation of a verified body's item for `verified`.
    package init(_ item: VerifiedItem, source: ObservationSource, ingestUserID: Identifier? = nil)
        throws(IncompletePayload)
    {
        try self.init(
            SignedPayloads(item), source: source, environment: item.environment, bundleID: item.bundleID,
            verification: item.verification, notification: item.observedNotification, claims: item.claims,
            ingestUserID: ingestUserID)
    }

    /// Makes a link observation, which names a purchase whose owner changed and is not signed.
    package init(relinking purchase: PurchaseKey, owner: ObservedOwner) {
        source = nil
        environment = purchase.environment
        bundleID = purchase.bundleID
        verification = nil
        facts = Shared(SignedFacts())
        payloads = .none
        claims = ObservationClaims()
        relinkedPurchase = purchase.originalTransactionID
        isDuplicate = false
        self.owner = owner
        inputRange = nil
    }

    /// Reads a record's head, and finds the payloads after it.
    ///
    /// The members are read in the order in which `encoded()` writes them.
    init(reading head: inout some HeadMembers, _ value: [UInt8]) throws(ObservationError) {
        let version = try head.int("schemaVersion", in: Int64.min...Int64.max)
        guard Self.readableVersions.contains(version) else { throw .schemaVersion(version) }
        relinkedPurchase = try head.optionalIdentifier("relinkedPurchase")
        source = try head.optionalObject("source", ObservationSource.init(reading:))
        // Only an observation without a body may lack its source and its signature.
        let isUnsigned = relinkedPurchase != nil && source == nil
        guard isUnsigned || source != nil else { throw head.missing("source") }
        environment = Environment(rawValue: try head.identifier("environment").text)
        bundleID = try head.optionalIdentifier("bundleID")
        let verification = try head.optionalObject("verification", VerificationFacts.init(reading:))
        guard isUnsigned || verification != nil else { throw head.missing("verification") }
        self.verification = isUnsigned ? nil : verification
        facts = try Shared(Self.facts(reading: &head, environment, bundleID, verification: self.verification))
        let payloadBytes = try head.optionalObject("payloadBytes", ObservationPayloads.lengths(reading:))
        notification = try head.optionalObject("notification", ObservedNotification.init(reading:))
        claims = try head.optionalObject("claims", ObservationClaims.init(reading:)) ?? ObservationClaims()
        ingestUserID = try head.optionalIdentifier("ingestUserID")
        isDuplicate = try head.optionalBool("isDuplicate") ?? false
        owner = try head.optionalObject("owner", ObservedOwner.init(reading:))
        let membersEnd = head.passedBytes
        input = try head.optionalObject("input", InputPosition.init(reading:))
        payloads = try ObservationPayloads(payloadBytes, of: facts.value, in: value, from: head.end)
        let isOpen = !isDuplicate && owner == nil
        inputRange = isOpen ? membersEnd.map { $0..<head.end } : nil
    }

    private static func facts(
        reading head: inout some HeadMembers, _ environment: Environment, _ bundleID: Identifier?,
        verification: VerificationFacts?
    ) throws(ObservationError) -> SignedFacts {
        try head.optionalObject("facts") { (object) throws(ObservationError) in
            try SignedFacts(reading: &object, environment: environment, bundleID: bundleID, verification: verification)
        } ?? SignedFacts()
    }

    /// The version of the head and its facts, as this program writes them.
    package static let schemaVersion: Int64 = 1

    /// The versions that this program reads: its own and the previous one.
    ///
    /// Workers of two versions can therefore run side by side. The first version has no previous one.
    package static let readableVersions = max(1, schemaVersion - 1)...schemaVersion

    /// The versions of later programs; a worker waits with such a record until it is updated.
    ///
    /// The range is bounded, because such a record stops its partition: no upgrade skips more versions, and a greater
    /// number is a fault of the record.
    package static let newerVersions = schemaVersion + 1...schemaVersion + 8

    /// The purchase of the observation, from the transaction, else the renewal info, else the changed owner.
    package var originalTransactionID: Identifier? { facts.originalTransactionID ?? relinkedPurchase }

    /// The user that the ingestion service names beside the transaction.
    ///
    /// `nil` without a transaction or a user.
    package var claim: UserClaim? {
        guard let fact = facts.transaction, let userID = ingestUserID, let source else { return nil }
        return UserClaim(
            transactionID: fact.key.transactionID, purchaseDate: fact.identity.purchaseDate,
            position: RawPosition(
                timestamp: source.timestamp ?? .latest, partition: source.position.partition,
                offset: source.position.offset), userID: userID)
    }

    /// The observation's parts that the deduplication identifies by their IDs.
    package var parts: ObservationParts {
        ObservationParts(facts.value, claim: claim, notification: notification, in: environment)
    }
}
