import OpenSSL

/// A verified chain of certificates, shared by all JWS of one leaf.
///
/// A chain contains contexts of the leaf's key. Two threads must not use it at the same time.
final class VerifiedChain {
    /// Leaf, intermediate and root as presented.
    let certificates: [CertificateFacts]
    /// Leaf and intermediate; empty if a configured certificate signs by itself.
    private let signers: [Certificate]
    /// All anchors that vouch for the chain: usually one.
    let anchors: [Anchor]
    let method: VerificationFacts.Method
    /// The reason why the certificates may not sign App Store data.
    ///
    /// `nil` if they may.
    let purposeFault: String?
    /// The verifier of a JWS's signature; `SignedMessage` checks a receipt's signature.
    private let signature: P256Verifier?
    /// Number of valid signatures of the leaf so far.
    private var signaturesCount = 0

    /// Makes a chain of three certificates whose anchors have vouched for it.
    init(_ policy: ChainPolicy, anchors: [Anchor]) {
        let presented = [policy.leaf, policy.intermediate, policy.presentedRoot]
        certificates = presented.map(CertificateFacts.init)
        signers = [policy.leaf, policy.intermediate]
        self.anchors = anchors
        method = policy.family == .jws ? .jws : .receipt
        purposeFault = policy.purposeFault
        signature = policy.family == .jws ? policy.leaf.p256Key.map(P256Verifier.init) : nil
    }

    /// Makes the chain of a configured certificate, exported from Xcode.
    init(local certificate: Certificate, _ family: ChainFamily) {
        certificates = [CertificateFacts(certificate)]
        signers = []
        anchors = [Anchor(trust: .configured(certificate.fingerprint), certificate: certificate)]
        method = family == .jws ? .jwsXcode : .receipt
        signature = family == .jws ? certificate.p256Key.map(P256Verifier.init) : nil
        purposeFault = family.keyFault(of: certificate)
    }

    /// The certificates from the leaf to the first anchor.
    var path: [Certificate] { signers + anchors.prefix(1).map(\.certificate) }

    var leaf: SHA256Digest { certificates[0].fingerprint }

    /// The anchors that are valid at a time, if leaf and intermediate are valid too; both ends of validity included.
    func anchors(validAt seconds: Int64) -> [Anchor] {
        guard certificates.prefix(2).allSatisfy({ $0.validity.contains(seconds) }) else { return [] }
        return anchors.filter { $0.validity.contains(seconds) }
    }

    /// Counts a valid signature; gives the key a table after enough of them.
    func countSignature(_ configuration: VerifierConfiguration) {
        signaturesCount += 1
        guard let signature, !signature.hasTable,
            signaturesCount.isMultiple(of: configuration.limits.signaturesBeforeTable),
            let table = configuration.keyTables.table(of: signature.key, leaf: leaf)
        else { return }
        signature.use(table)
    }

    /// - Parameter beginning: the digest of the header segment and its dot, if known.
    func check(_ jws: CompactJWS, of token: Token, signature raw: [UInt8], after beginning: SHA256Prefix?)
        -> SignatureCheck
    {
        guard let signature else { return .invalid }
        let bytes = token.bytes
        guard let beginning else {
            return signature.verify(signature: raw.span, over: bytes.span.extracting(jws.signed))
        }
        return signature.verify(signature: raw.span, over: beginning, with: bytes.span.extracting(jws.payload))
    }
}

/// The chains of recent headers, found by the exact bytes of the header segment.
///
/// Every message of one leaf has the same header, and Apple has a new leaf every two years, so the list is short and
/// its first entry nearly always matches. Only headers of JWS with a valid signature are added, so that only the
/// holder of a certified key can displace others.
struct VerifiedChainCache {
    /// A known chain, and the digest of its header.
    struct Known {
        let chain: VerifiedChain
        let headerEnd: Int
        /// The digest of the header and its dot, computed once; they are most of the signed bytes.
        let beginning: SHA256Prefix
    }

    private struct Entry {
        let header: [UInt8]
        let chain: VerifiedChain
        let beginning: SHA256Prefix
    }

    let entriesMax: Int
    private var entries: [Entry] = []
    /// Number of look-ups that found a chain, and of look-ups that did not.
    private(set) var lookups = (found: 0, missed: 0)

    init(entriesMax: Int) { self.entriesMax = entriesMax }

    var count: Int { entries.count }

    /// The chain of the known header at the start of a token, and the header's end.
    ///
    /// A known header contains no dot. If a dot follows it, it is therefore the token's whole first segment, and no
    /// search through four thousand characters for the dot is needed.
    mutating func chain(beginning token: Token) -> Known? {
        let bytes = token.bytes
        for index in entries.indices {
            let known = entries[index].header
            let end = token.range.lowerBound + known.count
            guard end < token.range.upperBound, bytes[end] == UInt8(ascii: "."),
                ByteSearch.hasPrefix(known.span, bytes.span, at: token.range.lowerBound)
            else { continue }
            if index > 0 { entries.insert(entries.remove(at: index), at: 0) }
            lookups.found += 1
            let entry = entries[0]
            return Known(chain: entry.chain, headerEnd: end, beginning: entry.beginning)
        }
        lookups.missed += 1
        return nil
    }

    mutating func insert(_ chain: VerifiedChain, for header: ArraySlice<UInt8>) {
        guard entriesMax > 0 else { return }
        if entries.count >= entriesMax { entries.removeLast() }
        let header = Array(header)
        let beginning = SHA256Prefix(header + [UInt8(ascii: ".")])
        entries.insert(Entry(header: header, chain: chain, beginning: beginning), at: 0)
    }
}
