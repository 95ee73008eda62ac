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

    /// The curve that the key names by its OID, where it is P-256 or P-384.
    private var namedCurve: NamedCurve? {
        var algorithm: UnsafeMutablePointer<X509_ALGOR>?
        let key = unsafe X509_get_X509_PUBKEY(object.pointer)
        guard unsafe X509_PUBKEY_get0_param(nil, nil, nil, &algorithm, key) == 1,
            let algorithm = unsafe algorithm
        else { return nil }
        var identifier: OpaquePointer?
        var parameterType: Int32 = 0
        var parameter: UnsafeRawPointer?
        unsafe X509_ALGOR_get0(&identifier, &parameterType, &parameter, algorithm)
        guard unsafe OBJ_obj2nid(identifier) == NID_X9_62_id_ecPublicKey,
            parameterType == V_ASN1_OBJECT
        else { return nil }
        return NamedCurve(identifier: unsafe OBJ_obj2nid(OpaquePointer(parameter)))
    }

    /// Whether the key is a point of the curve that it names; true where it names neither.
    var hasPointOfItsCurve: Bool {
        guard let namedCurve else { return true }
        var start: UnsafePointer<UInt8>?
        var count: Int32 = 0
        let key = unsafe X509_get_X509_PUBKEY(object.pointer)
        guard unsafe X509_PUBKEY_get0_param(nil, &start, &count, nil, key) == 1 else {
            return false
        }
        return unsafe namedCurve.holds(UnsafeBufferPointer(start: start, count: Int(count)))
    }

    /// `.other` in the null library, which decodes no key.
    var keyKind: KeyKind {
        guard let key = unsafe X509_get0_pubkey(object.pointer) else {
            ERR_clear_error()
            return namedCurve == nil ? .other : .malformed
        }
        return unsafe KeyKind(checking: key)
    }
}
