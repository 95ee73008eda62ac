import OpenSSL

/// What remains of certificates once their chain is verified: all that what they sign shares.
///
/// Holds the leaf's key in contexts that are used by one thread at a time, as its verifier is.
final class VerifiedChain {
    /// Leaf, intermediate and root as presented.
    let certificates: [CertificateFacts]
    /// Leaf and intermediate; or one that is configured itself.
    private let signers: [Certificate]
    /// Everyone who vouches for the chain: usually one.
    let anchors: [Anchor]
    let method: VerificationFacts.Method
    /// Why the certificates do not sign transactions; nil where they do.
    let purposeFault: String?
    /// Of a JWS; a receipt's signature is for its message to check.
    private let signature: P256Verifier?
    /// How many signatures of the leaf were good.
    private var signaturesCount = 0

    /// A chain of three whose anchors have vouched for it.
    init(_ policy: ChainPolicy, anchors: [Anchor]) {
        let presented = [policy.leaf, policy.intermediate, policy.presentedRoot]
        certificates = presented.map(CertificateFacts.init)
        signers = [policy.leaf, policy.intermediate]
        self.anchors = anchors
        method = policy.family == .jws ? .jws : .receipt
        purposeFault = policy.purposeFault
        signature = policy.family == .jws ? policy.leaf.p256Key.map(P256Verifier.init) : nil
    }

    /// A certificate exported from Xcode, which is configured.
    init(local certificate: Certificate, _ family: ChainFamily) {
        certificates = [CertificateFacts(certificate)]
        signers = []
        anchors = [
            Anchor(
                trust: .configured(certificate.fingerprint),
                certificate: certificate
            )
        ]
        method = family == .jws ? .jwsXcode : .receipt
        signature = family == .jws ? certificate.p256Key.map(P256Verifier.init) : nil
        purposeFault = family.keyFault(of: certificate)
    }

    /// From the leaf to the root that vouches for it.
    var path: [Certificate] { signers + anchors.prefix(1).map(\.certificate) }

    var leaf: SHA256Digest { certificates[0].fingerprint }

    /// The anchors that were valid at a time, where leaf and intermediate were; both ends count.
    func anchors(validAt seconds: Int64) -> [Anchor] {
        guard certificates.prefix(2).allSatisfy({ $0.validity.contains(seconds) }) else {
            return []
        }
        return anchors.filter { $0.validity.contains(seconds) }
    }

    /// Notes a good signature, and gives the key a table once it has made enough of them.
    func countSignature(_ configuration: VerifierConfiguration) {
        signaturesCount += 1
        guard let signature, !signature.hasTable,
            signaturesCount.isMultiple(of: configuration.limits.signaturesBeforeTable),
            let table = configuration.keyTables.table(of: signature.key, leaf: leaf)
        else { return }
        signature.use(table)
    }

    func check(_ jws: CompactJWS, of token: Token, signature raw: [UInt8]) -> SignatureCheck {
        guard let signature else { return .invalid }
        let bytes = token.bytes
        return signature.verify(
            signature: raw.span,
            over: bytes.span.extracting(jws.signed)
        )
    }
}
