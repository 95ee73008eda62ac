import OpenSSL

/// What a chain of certificates signs.
///
/// Apple has a root for each family, which vouches for no other.
enum ChainFamily {
    case jws
    case receipts

    /// The fingerprint of Apple's root.
    var pin: SHA256Digest {
        switch self {
        case .jws: AppleRoots.jws
        case .receipts: AppleRoots.receipts
        }
    }

    /// Who a root stands for when it vouches for this family; nil for Apple's of another one.
    func trust(inRoot fingerprint: SHA256Digest) -> Trust? {
        switch fingerprint {
        case pin: .apple
        case AppleRoots.jws, AppleRoots.receipts: nil
        default: .configured(fingerprint)
        }
    }

    /// Whether a certificate below the root may be signed over this digest: Apple's receipts had
    /// SHA-1 until 2023.
    func allows(_ digest: SignatureDigest) -> Bool {
        switch digest {
        case .sha256, .sha384, .sha512: true
        case .sha1: self == .receipts
        default: false
        }
    }

    static let rsaBitsMin = 2048

    /// Why the leaf's key signs nothing of this family; nil where it does.
    func keyFault(of leaf: Certificate) -> String? {
        switch self {
        case .jws:
            return leaf.hasNamedCurve && leaf.p256Key != nil
                ? nil : "the leaf's key is not on P-256 as a named curve"
        case .receipts:
            if case .rsa(let bits) = leaf.keyKind, bits >= Self.rsaBitsMin { return nil }
            return "the leaf's key is not RSA with 2048 bits or more"
        }
    }
}
