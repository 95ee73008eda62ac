import OpenSSL

extension Trust {
    /// The trust that a root stands for when it vouches for JWS; nil for Apple's receipt root,
    /// which vouches for none.
    init?(jwsRoot fingerprint: SHA256Digest) {
        switch fingerprint {
        case AppleRoots.jws: self = .apple
        case AppleRoots.receipts: return nil
        default: self = .configured(fingerprint)
        }
    }
}
