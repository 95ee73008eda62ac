package import AppStore
package import Entitlements

/// One verified statement of Apple's, as it travels through `verified`, `unique` and `linked`.
///
/// It holds a transaction with the renewal info that came with it, a renewal info alone, an app
/// transaction, a notification without either, or (from `link-worker`) no payload at all but the
/// name of a purchase whose owner changed. A receipt's record, which Apple signs as ASN.1, is a
/// transaction of the same shape.
///
/// As a record it has two parts. The head is all that the later stages decide by; the payloads are
/// what Apple signed, in its exact bytes, so that fields that Apple adds later survive all stages.
/// Only the initializer that takes payloads makes an observation with payloads, and it computes the
/// facts, so that a head always fits its payloads.
package struct Observation: Sendable {
    /// Nil where no body says it: the name of a purchase whose owner changed.
    package var source: ObservationSource?
    package let environment: Environment
    /// Nil for a renewal info alone, which names no app.
    package let bundleID: Identifier?
    /// Nil where nobody signed it: the name of a purchase whose owner changed.
    package let verification: VerificationFacts?
    package let facts: SignedFacts
    package let payloads: ObservationPayloads
    package var notification: ObservedNotification?
    package var claims: ObservationClaims
    /// The user that the ingestion service named in the raw record's header, if the operator trusts
    /// it; beside the raw record's position in `source`.
    package var ingestUserID: Identifier?
    /// Set on an observation that carries no payload: the purchase whose owner changed.
    package let relinkedPurchase: Identifier?
    /// A duplicate that travels on only so that the one who waits for it is answered.
    package var isDuplicate: Bool
    /// Set from `link-worker` on.
    package var owner: ObservedOwner?
    /// Which record a later stage than `verify-worker` has made it of.
    package var input: InputPosition?
    /// Where `input`, the head's last member, stands or could stand in the value that this was read
    /// from, with its comma.
    ///
    /// Nil where it was not read, where the head is of another form, and where it has a member
    /// already that a stage adds before `input`.
    package let inputRange: Range<Int>?

    /// Makes the observation of accepted payloads.
    ///
    /// - Throws: where a payload lacks what the verifier requires of every payload of its kind.
    package init(
        _ payloads: SignedPayloads,
        source: ObservationSource,
        environment: Environment,
        bundleID: Identifier?,
        verification: VerificationFacts,
        notification: ObservedNotification? = nil,
        claims: ObservationClaims = ObservationClaims(),
        ingestUserID: Identifier? = nil
    ) throws(IncompletePayload) {
        facts = try SignedFacts(
            of: payloads,
            environment: environment,
            bundleID: bundleID,
            verification: verification
        )
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
    package init(
        _ item: VerifiedItem,
        source: ObservationSource,
        ingestUserID: Identifier? = nil
    ) throws(IncompletePayload) {
        try self.init(
            SignedPayloads(item),
            source: source,
            environment: item.environment,
            bundleID: item.bundleID,
            verification: item.verification,
            notification: item.observedNotification,
            claims: item.claims,
            ingestUserID: ingestUserID
        )
    }

    /// A link observation: it names a purchase whose owner changed, and nobody signed it.
    package init(relinking purchase: PurchaseKey, owner: ObservedOwner) {
        source = nil
        environment = purchase.environment
        bundleID = purchase.bundleID
        verification = nil
        facts = SignedFacts()
        payloads = .none
        claims = ObservationClaims()
        relinkedPurchase = purchase.originalTransactionID
        isDuplicate = false
        self.owner = owner
        inputRange = nil
    }

    /// Reads a record's head, and finds the payloads behind it.
    ///
    /// The members are asked for in the order in which `encoded()` writes them.
    init(
        reading head: inout some HeadMembers,
        _ value: [UInt8]
    ) throws(ObservationError) {
        let version = try head.int("schemaVersion", in: Int64.min...Int64.max)
        guard Self.readableVersions.contains(version) else { throw .schemaVersion(version) }
        relinkedPurchase = try head.optionalIdentifier("relinkedPurchase")
        source = try head.optionalObject("source", ObservationSource.init(reading:))
        // Only what no body says goes without its source and its signature.
        let isUnsigned = relinkedPurchase != nil && source == nil
        guard isUnsigned || source != nil else { throw head.missing("source") }
        environment = Environment(rawValue: try head.identifier("environment").text)
        bundleID = try head.optionalIdentifier("bundleID")
        let verification = try head.optionalObject(
            "verification",
            VerificationFacts.init(reading:)
        )
        guard isUnsigned || verification != nil else { throw head.missing("verification") }
        self.verification = isUnsigned ? nil : verification
        facts = try Self.facts(reading: &head, environment, bundleID, self.verification)
        let payloadBytes = try head.optionalObject(
            "payloadBytes",
            ObservationPayloads.lengths(reading:)
        )
        notification = try head.optionalObject(
            "notification",
            ObservedNotification.init(reading:)
        )
        claims =
            try head.optionalObject("claims", ObservationClaims.init(reading:))
            ?? ObservationClaims()
        ingestUserID = try head.optionalIdentifier("ingestUserID")
        isDuplicate = try head.optionalBool("isDuplicate") ?? false
        owner = try head.optionalObject("owner", ObservedOwner.init(reading:))
        let membersEnd = head.passedBytes
        input = try head.optionalObject("input", InputPosition.init(reading:))
        payloads = try ObservationPayloads(payloadBytes, of: facts, in: value, from: head.end)
        let isOpen = !isDuplicate && owner == nil
        inputRange = isOpen ? membersEnd.map { $0..<head.end } : nil
    }

    private static func facts(
        reading head: inout some HeadMembers,
        _ environment: Environment,
        _ bundleID: Identifier?,
        _ verification: VerificationFacts?
    ) throws(ObservationError) -> SignedFacts {
        try head.optionalObject("facts") { (object) throws(ObservationError) in
            try SignedFacts(
                reading: &object,
                environment: environment,
                bundleID: bundleID,
                verification: verification
            )
        } ?? SignedFacts()
    }

    /// The version that is written, of the head and the facts in it.
    package static let schemaVersion: Int64 = 1

    /// The versions that are read: its own and the one before.
    ///
    /// So workers of two versions can run side by side. The first version has none before it.
    package static let readableVersions = max(1, schemaVersion - 1)...schemaVersion

    /// The purchase this is about: the transaction's, else the renewal info's, else the relinked
    /// one.
    package var originalTransactionID: Identifier? {
        facts.originalTransactionID ?? relinkedPurchase
    }

    /// The user that the ingestion service names beside the transaction; nil without a transaction
    /// or a user.
    package var claim: UserClaim? {
        guard let fact = facts.transaction, let userID = ingestUserID, let source else {
            return nil
        }
        return UserClaim(
            transactionID: fact.key.transactionID,
            purchaseDate: fact.identity.purchaseDate,
            position: RawPosition(
                timestamp: source.timestamp ?? .latest,
                partition: source.partition,
                offset: source.offset
            ),
            userID: userID
        )
    }

    /// The parts of it that the deduplication knows by their IDs.
    package var parts: ObservationParts {
        ObservationParts(facts, claim: claim, notification: notification, in: environment)
    }
}
