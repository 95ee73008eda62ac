import JSON
import OpenSSL

/// The JWS of the current item, or the receipt, with the findings about each, for the refusal if a rule is broken.
struct VerificationTrail {
    private struct Step {
        /// The current JWS.
        ///
        /// `nil` for a receipt.
        var token: Token?
        /// The signed content of a receipt.
        var receipt: [UInt8]?
        var legacyReceipt: LegacyReceipt?
        /// The payload's bytes, which may be unsigned.
        var decoded: [UInt8]?
        var payload: JSONValue?
        var chain: [CertificateFacts]
    }

    private var steps: [Step] = []

    mutating func beginItem() { steps.removeAll(keepingCapacity: true) }

    mutating func begin(_ token: Token) { steps.append(Step(token: token, chain: [])) }

    mutating func beginReceipt() { steps.append(Step(chain: [])) }

    mutating func record(receipt content: [UInt8]) { steps[steps.count - 1].receipt = content }

    mutating func record(_ receipt: LegacyReceipt) { steps[steps.count - 1].legacyReceipt = receipt }

    mutating func record(chain: [CertificateFacts]) { steps[steps.count - 1].chain = chain }

    mutating func record(decoded payload: [UInt8]) { steps[steps.count - 1].decoded = payload }

    mutating func record(payload: JSONValue) { steps[steps.count - 1].payload = payload }

    /// Makes an item current that was verified in an earlier pass.
    mutating func resume(_ statements: [SignedStatement]) {
        steps = statements.map { statement in
            Step(token: statement.token, payload: statement.json, chain: statement.chain.certificates)
        }
    }

    /// The refusal, with the last JWS first, which broke the rule.
    func refusal(for fault: Fault) -> Refusal {
        var unverified = UnverifiedIdentifiers()
        for step in steps.reversed() {
            if let payload = step.payload {
                unverified.add(payload)
            } else if let decoded = step.decoded {
                unverified.add(unsigned: decoded)
            } else if let token = step.token {
                unverified.add(payloadOf: token)
            } else if let receipt = step.receipt {
                unverified.add(receipt: receipt)
            } else if let receipt = step.legacyReceipt {
                unverified.add(receipt)
            }
        }
        return Refusal(
            reason: fault.reason, detail: fault.detail, chain: steps.last?.chain ?? [], unverified: unverified,
            signedPayload: fault.reason.isSettingsDependent ? signedPayload : nil)
    }

    /// The digest of the last JWS's payload or the receipt's content, whatever the rest of the body is.
    private var signedPayload: SHA256Digest? {
        guard let step = steps.last else { return nil }
        if let payload = step.payload { return SHA256.digest(payload.rawBytes) }
        return step.receipt.map { SHA256.digest($0) }
    }
}
