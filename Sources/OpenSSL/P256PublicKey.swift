internal import COpenSSL

/// A public key on P-256; immutable, so that threads may share one.
@safe
package final class P256PublicKey: @unchecked Sendable {
    let key: Handle<Resource.Key>

    /// Reads a SubjectPublicKeyInfo (DER) that fills the bytes; nil unless it is a P-256 key, and
    /// for what only looks like one: the point at infinity, or none of the curve.
    package convenience init?(subjectPublicKeyInfo der: [UInt8]) {
        defer { ERR_clear_error() }
        let decoded: OpaquePointer? = unsafe der.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return nil }
            var position: UnsafePointer<UInt8>? = unsafe start
            guard let key = unsafe d2i_PUBKEY(nil, &position, buffer.count) else { return nil }
            guard unsafe position == start + buffer.count else {
                unsafe EVP_PKEY_free(key)
                return nil
            }
            return unsafe key
        }
        guard let handle = unsafe Handle<Resource.Key>(takingOwnershipOf: decoded),
            unsafe KeyKind(checking: handle.pointer) == .p256
        else { return nil }
        self.init(takingOwnershipOf: handle)
    }

    /// Shares the certificate's key, which lives as long as either.
    ///
    /// - Parameter certificate: whose `keyKind` is `.p256`: that has checked the key.
    convenience init?(of certificate: ParsedCertificate) {
        guard let key = unsafe X509_get_pubkey(certificate.object.pointer) else {
            ERR_clear_error()
            return nil
        }
        self.init(takingOwnershipOf: unsafe Handle<Resource.Key>(takingOwnershipOf: key))
    }

    init?(takingOwnershipOf key: consuming Handle<Resource.Key>) {
        guard unsafe KeyKind(of: key.pointer) == .p256 else { return nil }
        self.key = key
    }
}
