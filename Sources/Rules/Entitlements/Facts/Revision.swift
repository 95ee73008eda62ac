package import AppStore
package import OpenSSL

/// The order of signed statements about one ID, of which the greatest counts.
///
/// The newest signed date wins, and of equal dates the greater content hash, in every stage alike,
/// so that the order of arrival decides nothing.
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

/// The source of a transaction; each track has a newest revision of its own.
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
