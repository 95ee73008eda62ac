package import OpenSSL

/// The root that vouched for a payload: a configured root, or any of Apple's pinned roots.
///
/// A bare renewal info names no app. It applies only to purchases whose transactions have the same
/// trust, so that a test root never renews a customer's purchase.
package enum Trust: Hashable, Sendable {
    case apple
    case configured(SHA256Digest)

    /// The trust as text: `apple`, or the root's SHA-256 in lower-case hexadecimal.
    package var text: String {
        switch self {
        case .apple: "apple"
        case .configured(let fingerprint): fingerprint.hex
        }
    }

    package init?(text: String) {
        let utf8 = text.utf8
        self.init(utf8: utf8.span)
    }

    /// - Parameter text: UTF-8, which is read without making a string.
    package init?(utf8 text: Span<UInt8>) {
        if Self.isApple(text) {
            self = .apple
        } else if let fingerprint = SHA256Digest(hex: text) {
            self = .configured(fingerprint)
        } else {
            return nil
        }
    }

    private static func isApple(_ text: Span<UInt8>) -> Bool {
        let apple = "apple".utf8
        return text.count == apple.count && zip(text.indices, apple).allSatisfy { text[$0] == $1 }
    }
}
