import OpenSSL

/// Verifies signatures of certificates, and remembers the intermediates that a root has signed.
///
/// A signature on P-384 costs as much as ten records whose chain is known. Apple's intermediate and
/// root are public, so a forger can send them with his own leaf: once they are known, such a leaf,
/// and Apple's next one, costs one signature instead of two.
///
/// It remembers only that this root's key verifies these exact bytes, which time cannot change:
/// names, dates, purpose and revocation are checked again for each record. Only certificates that a
/// trusted root has signed are added, so that nobody can fill it with forgeries. Each verifier owns
/// one, so that other roots start with an empty one. Not for use by two threads at once.
struct CertificateSignatures {
    private struct Fact {
        let intermediate: Certificate
        let root: Certificate
    }

    let factsMax: Int
    /// The most recently used one comes first.
    private var facts: [Fact] = []

    init(factsMax: Int) { self.factsMax = factsMax }

    /// The certificate of exactly these bytes, if remembered: parsed, its key decoded.
    ///
    /// It is of version 3: no other intermediate is read, and a root is pinned or configured.
    func certificate(of der: [UInt8]) -> Certificate? {
        for fact in facts {
            if fact.intermediate.der == der { return fact.intermediate }
            if fact.root.der == der { return fact.root }
        }
        return nil
    }

    /// Whether the intermediate has signed a leaf; verified on each call.
    func isSigned(_ leaf: Certificate, by intermediate: Certificate) -> Bool { leaf.isSigned(by: intermediate) }

    /// Whether a root that may vouch for chains has signed an intermediate; verified once.
    ///
    /// A signature that does not verify is never remembered.
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
