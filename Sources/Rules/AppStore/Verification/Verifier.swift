import JSON
import OpenSSL
import Release

/// The decision whether Apple signed a body for one of the configured apps, and the contents of the body.
///
/// VERIFICATION.md in this target lists the rules in order; the first broken rule is the reason for the refusal. Two
/// threads must not use a verifier at the same time, because it contains the keys' contexts and the chains verified so
/// far: each thread has its own verifier with the same configuration.
package final class Verifier {
    /// The version of the rules, for auditors.
    package static let version = Release.version

    package let configuration: VerifierConfiguration
    var chains: VerifiedChainCache
    var signatures: CertificateSignatures
    var trail = VerificationTrail()
    /// The known statuses of certificates.
    ///
    /// `nil` if revocation is not checked.
    package var revocations: RevocationSnapshot?
    /// Certificates of the current body whose status is unknown.
    var awaited: Set<SHA256Digest> = []
    /// Number of bodies that passed with an unknown status.
    package private(set) var passedUnknown = 0
    /// Number of JWS in accepted bodies that were omitted because their kind is unknown or they name no app.
    package private(set) var unknownKinds = 0
    /// Number of omitted JWS in the current body.
    private var unknownKindsInBody = 0

    package init(configuration: VerifierConfiguration) {
        self.configuration = configuration
        chains = VerifiedChainCache(entriesMax: configuration.limits.chainsCachedMax)
        signatures = CertificateSignatures(factsMax: configuration.limits.intermediatesKnownMax)
    }

    package var chainsCached: Int { chains.count }

    /// Number of JWS headers with a known chain, and of JWS headers without one.
    package var chainLookups: (found: Int, missed: Int) { chains.lookups }

    /// Verifies a body as a whole: nothing is returned before all of it has passed the last rule.
    package func verify(_ body: [UInt8]?) -> Result<VerifiedBody, Refusal> {
        // Releases the body's memory before the next body, however large it was.
        defer {
            trail = VerificationTrail()
            awaited.removeAll()
            unknownKindsInBody = 0
        }
        do throws(Fault) {
            let verified = try verified(body)
            if !awaited.isEmpty {
                if revocations?.isHard == true { return .success(.undetermined(awaited)) }
                passedUnknown += 1
            }
            unknownKinds += unknownKindsInBody
            return .success(verified)
        } catch { return .failure(trail.refusal(for: error)) }
    }

    private func verified(_ body: [UInt8]?) throws(Fault) -> VerifiedBody {
        let envelope = try Envelope(body, configuration.limits)
        if let receipt = envelope.receipt { return try verified(receipt, envelope) }
        guard !envelope.items.isEmpty else { return .ignored(.emptyResponse) }
        var items: [[SignedStatement]] = []
        items.reserveCapacity(envelope.items.count)
        for item in envelope.items {
            trail.beginItem()
            items.append(try statements(of: item, isPart: envelope.isResponse))
        }
        for statements in items where statements.count > 1 {
            trail.resume(statements)
            try ItemAgreement(statements).check()
        }
        for (item, statements) in zip(envelope.items, items) where !statements.isEmpty {
            guard envelope.claims != nil || item.claims != nil else { continue }
            trail.resume(statements)
            try ClaimCheck(statements).check([envelope.claims, item.claims])
        }
        let verified = items.flatMap { VerifiedItem.items($0, claims: envelope.clientClaims) }
        return verified.isEmpty ? .ignored(.unknownKind) : .items(verified)
    }

    private func verified(_ text: ReceiptText, _ envelope: Envelope) throws(Fault) -> VerifiedBody {
        let receipt = try verify(text)
        if let claims = envelope.claims { try ClaimCheck.check(claims, against: receipt) }
        guard !receipt.records.isEmpty else { return .ignored(.emptyReceipt) }
        return .items(receipt.items(claims: envelope.clientClaims))
    }

    /// The item's JWS in the order of the body, a notification before its contents; empty if all of them are omitted.
    private func statements(of item: EnvelopeItem, isPart: Bool) throws(Fault) -> [SignedStatement] {
        var statements: [SignedStatement] = []
        for (token, kind) in item.tokens {
            let outer = try verify(token, expecting: kind, isPart: isPart)
            add(outer, to: &statements)
            for (token, kind) in outer.signedItems {
                add(try verify(token, expecting: kind, isPart: isPart), to: &statements)
            }
        }
        return statements
    }

    private func add(_ jws: GenuineJWS, to statements: inout [SignedStatement]) {
        switch jws {
        case .statement(let statement): statements.append(statement)
        case .unknown: unknownKindsInBody += 1
        }
    }
}
