internal import COpenSSL

extension ParsedCertificate {
    /// Not on a curve spelt out parameter by parameter (RFC 5480 §2.1.1 allows named ones only).
    var hasNamedCurve: Bool {
        var algorithm: UnsafeMutablePointer<X509_ALGOR>?
        let key = unsafe X509_get_X509_PUBKEY(object.pointer)
        guard unsafe X509_PUBKEY_get0_param(nil, nil, nil, &algorithm, key) == 1,
            let algorithm = unsafe algorithm
        else { return false }
        var identifier: OpaquePointer?
        var parameterType: Int32 = 0
        unsafe X509_ALGOR_get0(&identifier, &parameterType, nil, algorithm)
        guard unsafe OBJ_obj2nid(identifier) == NID_X9_62_id_ecPublicKey else { return true }
        return parameterType == V_ASN1_OBJECT
    }

    /// `.other` in the null library, which decodes no key.
    var keyKind: KeyKind {
        guard let key = unsafe X509_get0_pubkey(object.pointer) else {
            ERR_clear_error()
            return .other
        }
        return unsafe KeyKind(of: key)
    }
}
