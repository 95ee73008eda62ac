import OpenSSL

extension Verifier {
    /// Refuses what was signed since its certificate was revoked; notes which ones are unknown.
    ///
    /// A certificate that is configured itself has no issuer to ask.
    func checkRevocation(of chain: VerifiedChain, at signedDate: Timestamp) throws(Fault) {
        guard let revocations, chain.certificates.count > 1 else { return }
        for (certificate, name) in zip(chain.certificates, ["leaf", "intermediate"]) {
            switch revocations.status(of: certificate.fingerprint) {
            case .good, .unanswerable: break
            case .unknown: awaited.insert(certificate.fingerprint)
            case .revoked(let since):
                guard signedDate.wholeSeconds >= since else { continue }
                throw Fault(.certificateRevoked, "the \(name) was revoked before the signed date")
            }
        }
    }
}
