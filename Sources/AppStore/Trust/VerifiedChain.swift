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

/// The chains of the last headers, found by the exact bytes of the header segment.
///
/// Every message of one leaf has the same header, and Apple has a leaf every two years, so the list
/// is short and its first entry nearly always the one. Only a header whose JWS had a good signature
/// comes in: nobody but a holder of a certified key can push others out.
struct VerifiedChainCache {
    private struct Entry {
        let header: [UInt8]
        let chain: VerifiedChain
    }

    let entriesMax: Int
    private var entries: [Entry] = []

    init(entriesMax: Int) {
        self.entriesMax = entriesMax
    }

    var count: Int { entries.count }

    /// The chain of the known header that a token begins with, and where that header ends.
    ///
    /// A known header holds no dot, so it is the token's whole first segment where a dot follows:
    /// nobody has to look for that dot in four thousand characters.
    mutating func chain(beginning token: Token) -> (chain: VerifiedChain, headerEnd: Int)? {
        let bytes = token.bytes
        for index in entries.indices {
            let known = entries[index].header
            let end = token.range.lowerBound + known.count
            guard end < token.range.upperBound, bytes[end] == UInt8(ascii: "."),
                ByteSearch.hasPrefix(known.span, bytes.span, at: token.range.lowerBound)
            else { continue }
            if index > 0 {
                entries.insert(entries.remove(at: index), at: 0)
            }
            return (entries[0].chain, end)
        }
        return nil
    }

    mutating func insert(_ chain: VerifiedChain, for header: ArraySlice<UInt8>) {
        guard entriesMax > 0 else { return }
        if entries.count >= entriesMax {
            entries.removeLast()
        }
        entries.insert(Entry(header: Array(header), chain: chain), at: 0)
    }
}
