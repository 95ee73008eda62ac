internal import COpenSSL

/// The kind of a certificate's public key.
package enum KeyKind: Hashable, Sendable {
    case p256
    case p384
    case otherCurve
    case rsa(bits: Int)
    /// A key on P-256 or P-384 that is not a valid public point of its curve.
    case malformed
    /// A key of another algorithm, or one that cannot be decoded.
    case other
}

extension KeyKind {
    /// Determines the kind of a key of unknown origin.
    ///
    /// A key on P-256 or P-384 must pass OpenSSL's own check, which takes half as long as a signature.
    init(checking key: OpaquePointer) {
        let kind = unsafe KeyKind(of: key)
        switch kind {
        case .p256, .p384: self = unsafe Self.isPublicKey(key) ? kind : .malformed
        case .otherCurve, .rsa, .malformed, .other: self = kind
        }
    }

    private static func isPublicKey(_ key: OpaquePointer) -> Bool {
        defer { ERR_clear_error() }
        let made = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
        guard let context = unsafe Handle<Resource.KeyContext>(takingOwnershipOf: made) else { return false }
        return unsafe EVP_PKEY_public_check(context.pointer) == 1
    }

    /// Determines the kind of a key that the caller owns.
    init(of key: OpaquePointer) {
        switch unsafe EVP_PKEY_get_base_id(key) {
        case NID_rsaEncryption, NID_rsassaPss: self = .rsa(bits: Int(unsafe EVP_PKEY_get_bits(key)))
        case NID_X9_62_id_ecPublicKey: self = unsafe Self.curve(of: key)
        default: self = .other
        }
    }

    private static func curve(of key: OpaquePointer) -> KeyKind {
        let capacity = 64
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { name in
            guard let start = name.baseAddress, unsafe EVP_PKEY_get_group_name(key, start, capacity, nil) == 1 else {
                ERR_clear_error()
                return .otherCurve
            }
            return switch unsafe OBJ_sn2nid(start) {
            case NID_X9_62_prime256v1: .p256
            case NID_secp384r1: .p384
            default: .otherCurve
            }
        }
    }
}
