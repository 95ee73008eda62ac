package import AppStore
package import OpenSSL

/// Which of several signed statements about one ID counts: the greatest.
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

    package static func < (left: Revision, right: Revision) -> Bool {
        (left.signedDate, left.contentHash) < (right.signedDate, right.contentHash)
    }
}
