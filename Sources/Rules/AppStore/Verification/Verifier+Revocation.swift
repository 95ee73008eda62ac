package import OpenSSL

extension Verifier {
    /// Refuses data signed after its certificate was revoked; records certificates with an unknown status.
    ///
    /// A certificate that is itself configured has no issuer that could revoke it.
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

/// The known revocation statuses of certificates while one batch is verified.
package struct RevocationSnapshot: Sendable {
    package enum Status: Hashable, Sendable {
        case good
        /// A certificate revoked from this second on, counted since 1970.
        case revoked(since: Int64)
        /// A status not requested yet, or without a valid answer.
        case unknown
        /// No responder can answer: the chain names no responder, or the certificate has expired and its responder did
        /// not answer, because it may then drop the status (RFC 6960 §4.4.4).
        case unanswerable
    }

    /// Whether an otherwise valid record waits until every status is known.
    package let isHard: Bool
    private let statuses: [SHA256Digest: Status]

    package init(isHard: Bool, statuses: [SHA256Digest: Status]) {
        self.isHard = isHard
        self.statuses = statuses
    }

    package func status(of certificate: SHA256Digest) -> Status { statuses[certificate] ?? .unknown }
}
