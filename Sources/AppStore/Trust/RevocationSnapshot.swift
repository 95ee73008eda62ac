package import OpenSSL

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
