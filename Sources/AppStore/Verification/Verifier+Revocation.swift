package import OpenSSL

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

/// What is known of the revocation of certificates while one batch is verified.
package struct RevocationSnapshot: Sendable {
    package enum Status: Hashable, Sendable {
        case good
        /// From this second on, since 1970.
        case revoked(since: Int64)
        /// Not asked yet, or without an answer that counts.
        case unknown
        /// Nobody can say it: the chain names no responder, or the certificate has expired and was
        /// asked about in vain, as a responder need not know it any longer (RFC 6960 §4.4.4).
        case unanswerable
    }

    /// Whether a record waits until all is known, where it would pass otherwise.
    package let isHard: Bool
    private let statuses: [SHA256Digest: Status]

    package init(isHard: Bool, statuses: [SHA256Digest: Status]) {
        self.isHard = isHard
        self.statuses = statuses
    }

    package func status(of certificate: SHA256Digest) -> Status {
        statuses[certificate] ?? .unknown
    }
}
