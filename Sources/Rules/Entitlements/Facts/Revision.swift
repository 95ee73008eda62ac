package import AppStore
package import OpenSSL

/// The order of signed statements about one ID; the greatest one counts.
///
/// The statement with the newest signed date wins; among equal dates, the one with the greater content hash. Every
/// stage uses this order, so the order of arrival has no effect.
package struct Revision: Hashable, Comparable, Sendable {
    package var signedDate: Timestamp
    package var contentHash: SHA256Digest

    package init(signedDate: Timestamp, contentHash: SHA256Digest) {
        self.signedDate = signedDate
        self.contentHash = contentHash
    }

    static let blank = Revision(signedDate: .earliest, contentHash: SHA256.digest([]))

    package static func < (left: Revision, right: Revision) -> Bool {
        (left.signedDate, left.contentHash) < (right.signedDate, right.contentHash)
    }
}

/// The source of a transaction; each track has its own newest revision.
package enum Track: String, Hashable, CaseIterable, Sendable {
    case jws
    case receipt

    package init(_ method: VerificationFacts.Method) {
        switch method {
        case .jws, .jwsXcode: self = .jws
        case .receipt: self = .receipt
        }
    }
}
