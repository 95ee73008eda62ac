import JSON
import OpenSSL

extension Verifier {
    /// Verifies a receipt by the applicable rules for a JWS, in their order.
    func verify(_ receipt: ReceiptText) throws(Fault) -> VerifiedReceipt {
        trail.beginReceipt()
        let outline = try outline(of: receipt)
        let message = try parse(outline)
        trail.record(receipt: message.content)
        guard message.digest != nil else {
            throw Fault(.algorithmNotAllowed, "the receipt is not signed by RSA PKCS #1 v1.5 over SHA-1 or SHA-256")
        }
        let certificates = try parse(outline.certificates, acceptsOldRoot: false)
        let (leaf, chain) = try verifyChain(of: message, certificates)
        trail.record(chain: chain.certificates)
        try checkPurpose(of: chain)
        try check(message, leaf)
        configuration.observer?.observed(chain.path)
        // After this line the content is known to be signed by a trusted key.
        let contents = try ReceiptContents(message.content, recordsMax: configuration.limits.itemsMax)
        guard let signedDate = contents.app.signedDate else {
            throw Fault(.receiptMalformed, "the receipt has no creation date")
        }
        let anchors = try anchors(of: chain, at: signedDate)
        let records = try ReceiptRecord.all(of: contents)
        let vouching = try vouching(forReceipt: contents, anchors)
        return VerifiedReceipt(
            contents: contents, records: records, environment: vouching.environment, bundleID: vouching.app?.bundleID,
            verification: VerificationFacts(
                signedDate: signedDate, leaf: chain.leaf, root: vouching.anchor.fingerprint,
                trust: vouching.anchor.trust, method: chain.method, verifier: Verifier.version))
    }

    private func outline(of receipt: ReceiptText) throws(Fault) -> MessageOutline {
        let ber = try receipt.decoded()
        if let legacy = LegacyReceipt(ber) {
            trail.record(legacy)
            throw Fault(.receiptUnsupported, LegacyReceipt.advice)
        }
        do throws(SignedMessageError) {
            return try MessageOutline(
                ber: ber, certificateCounts: configuration.localCertificates.isEmpty ? [3] : [1, 3],
                certificateBytesMax: configuration.limits.certificateBytesMax)
        } catch { throw Fault(error) }
    }

    private func parse(_ outline: MessageOutline) throws(Fault) -> SignedMessage {
        do throws(SignedMessageError) { return try SignedMessage(outline) } catch {
            if error == .notSignedData {
                // OpenSSL reads no message with a malformed certificate; that certificate's fault is more precise.
                _ = try parse(outline.certificates, acceptsOldRoot: false)
            }
            throw Fault(error)
        }
    }

    /// Verifies certificates in any order: the signer's is the leaf, and the leaf's issuer is the next.
    private func verifyChain(of message: SignedMessage, _ certificates: [Certificate]) throws(Fault) -> (
        leaf: Certificate, chain: VerifiedChain
    ) {
        guard let index = certificates.firstIndex(where: message.isSigned(in:)) else {
            throw Fault(.receiptMalformed, "no certificate belongs to the signer")
        }
        let leaf = certificates[index]
        guard certificates.count == 3 else { return (leaf, try verifyLocal(leaf, .receipts)) }
        var issuers = certificates
        issuers.remove(at: index)
        if leaf.issuance(by: issuers[0]) == .nameMismatch, leaf.issuance(by: issuers[1]) != .nameMismatch {
            issuers.swapAt(0, 1)
        }
        trail.record(chain: ([leaf] + issuers).map(CertificateFacts.init))
        let policy = ChainPolicy(leaf: leaf, intermediate: issuers[0], presentedRoot: issuers[1], family: .receipts)
        let anchors = try policy.anchors(configuration.chainRoots(.receipts), &signatures)
        return (leaf, VerifiedChain(policy, anchors: anchors))
    }

    private func check(_ message: SignedMessage, _ leaf: Certificate) throws(Fault) {
        switch message.check(with: leaf) {
        case .valid: break
        case .invalid: throw Fault(.receiptSignatureInvalid, "the signature is not by the leaf's key")
        case .wrongAttributes:
            throw Fault(.receiptSignatureInvalid, "the signed attributes do not name the content's type and digest")
        case .wrongKey: throw Fault(.receiptSignatureInvalid, "the leaf's key is not an RSA key")
        }
    }
}

extension Fault {
    fileprivate init(_ error: SignedMessageError) {
        switch error {
        case .notBER: self.init(.receiptMalformed, "the receipt is not BER within the limits")
        case .trailingBytes: self.init(.receiptMalformed, "bytes follow the receipt")
        case .notSignedData: self.init(.receiptMalformed, "the receipt is not PKCS #7 SignedData")
        case .noContent: self.init(.receiptMalformed, "the receipt does not contain what it signs")
        case .signerCount(let count): self.init(.receiptMalformed, "the receipt has \(count) signers instead of 1")
        case .certificateCount(let count):
            self.init(
                .receiptMalformed,
                "the receipt holds \(count) certificates instead of 3; one alone, Xcode's, needs an"
                    + " app entry of the environment Xcode")
        case .certificateTooLarge: self.init(.certificateMalformed, "a certificate is too large")
        }
    }
}

struct VerifiedReceipt {
    let contents: ReceiptContents
    /// The distinct records.
    let records: [ReceiptRecord]
    let environment: Environment
    let bundleID: Identifier?
    let verification: VerificationFacts

    /// Makes an item for each record.
    ///
    /// The first item contains the receipt's fields about the app; the other items do too if those fields are short.
    func items(claims: ObservationClaims) -> [VerifiedItem] {
        let isRepeated = contents.json.range.count <= Self.repeatedBytesMax
        return records.enumerated().map { index, record in
            VerifiedItem(record, of: self, claims, naming: index == 0 || isRepeated)
        }
    }

    /// Maximum bytes of fields that each item repeats, several times the size in Apple's receipts.
    private static let repeatedBytesMax = 4 << 10
}
