import OpenSSL

/// Verification of certificates' signatures, with a cache of the intermediates that a root has signed.
///
/// A signature on P-384 costs as much as ten records with a known chain. Apple's intermediate and root are public, so
/// a forger can send them with his own leaf. Once they are cached, such a leaf, like Apple's next leaf, costs one
/// signature instead of two.
///
/// The cache states only that this root's key verifies these exact bytes, which time cannot change: names, dates,
/// purpose and revocation are checked again for each record. Only certificates signed by a trusted root are added, so
/// forgeries cannot fill the cache. Each verifier has its own cache, so a verifier with other roots starts with an
/// empty one. Two threads must not use it at the same time.
struct CertificateSignatures {
    private struct Fact {
        let intermediate: Certificate
        let root: Certificate
    }

    let factsMax: Int
    /// The cached facts, the most recently used first.
    private var facts: [Fact] = []

    init(factsMax: Int) { self.factsMax = factsMax }

    /// The cached certificate with exactly these bytes, parsed and with its key decoded.
    ///
    /// The certificate has version 3: no other intermediate is read, and a root is pinned or configured.
    func certificate(of der: [UInt8]) -> Certificate? {
        for fact in facts {
            if fact.intermediate.der == der { return fact.intermediate }
            if fact.root.der == der { return fact.root }
        }
        return nil
    }

    /// Whether the intermediate has signed a leaf; each call verifies the signature.
    func isSigned(_ leaf: Certificate, by intermediate: Certificate) -> Bool { leaf.isSigned(by: intermediate) }

    /// Whether a root that may vouch for chains has signed an intermediate; a valid signature is verified once.
    ///
    /// An invalid signature is never cached.
    mutating func isSigned(_ intermediate: Certificate, byRoot root: Certificate) -> Bool {
        if let known = index(of: intermediate, root) {
            if known > 0 { facts.insert(facts.remove(at: known), at: 0) }
            return true
        }
        let isSigned = intermediate.isSigned(by: root)
        if isSigned { remember(Fact(intermediate: intermediate, root: root)) }
        return isSigned
    }

    private func index(of intermediate: Certificate, _ root: Certificate) -> Int? {
        facts.firstIndex { fact in
            fact.intermediate.fingerprint == intermediate.fingerprint && fact.root.fingerprint == root.fingerprint
        }
    }

    private mutating func remember(_ fact: Fact) {
        guard factsMax > 0 else { return }
        if facts.count >= factsMax { facts.removeLast() }
        facts.insert(fact, at: 0)
    }
}
