internal import COpenSSL

extension ParsedCertificate {
    /// Whether the key does not specify its curve parameter by parameter.
    ///
    /// RFC 5480 §2.1.1 allows only named curves.
    var hasNamedCurve: Bool {
        var algorithm: UnsafeMutablePointer<X509_ALGOR>?
        let key = unsafe X509_get_X509_PUBKEY(object.pointer)
        guard unsafe X509_PUBKEY_get0_param(nil, nil, nil, &algorithm, key) == 1, let algorithm = unsafe algorithm
        else { return false }
        var identifier: OpaquePointer?
        var parameterType: Int32 = 0
        unsafe X509_ALGOR_get0(&identifier, &parameterType, nil, algorithm)
        guard unsafe OBJ_obj2nid(identifier) == NID_X9_62_id_ecPublicKey else { return true }
        return parameterType == V_ASN1_OBJECT
    }

    /// The curve that the key names by its OID, if it is P-256 or P-384.
    private var namedCurve: NamedCurve? {
        var algorithm: UnsafeMutablePointer<X509_ALGOR>?
        let key = unsafe X509_get_X509_PUBKEY(object.pointer)
        guard unsafe X509_PUBKEY_get0_param(nil, nil, nil, &algorithm, key) == 1, let algorithm = unsafe algorithm
        else { return nil }
        var identifier: OpaquePointer?
        var parameterType: Int32 = 0
        var parameter: UnsafeRawPointer?
        unsafe X509_ALGOR_get0(&identifier, &parameterType, &parameter, algorithm)
        guard unsafe OBJ_obj2nid(identifier) == NID_X9_62_id_ecPublicKey, parameterType == V_ASN1_OBJECT else {
            return nil
        }
        return NamedCurve(identifier: unsafe OBJ_obj2nid(OpaquePointer(parameter)))
    }

    /// Whether the key is a point of its named curve; true for any other kind of key.
    var hasPointOfItsCurve: Bool {
        guard let namedCurve else { return true }
        var start: UnsafePointer<UInt8>?
        var count: Int32 = 0
        let key = unsafe X509_get_X509_PUBKEY(object.pointer)
        guard unsafe X509_PUBKEY_get0_param(nil, &start, &count, nil, key) == 1 else { return false }
        return unsafe namedCurve.holds(UnsafeBufferPointer(start: start, count: Int(count)))
    }

    /// The kind of the key; `.other` in the null library, which decodes no key.
    var keyKind: KeyKind {
        guard let key = unsafe X509_get0_pubkey(object.pointer) else {
            ERR_clear_error()
            return namedCurve == nil ? .other : .malformed
        }
        return unsafe KeyKind(checking: key)
    }
}

/// A curve of Apple's chains, with a check whether bytes are a point of the curve.
///
/// OpenSSL's key decoders take a hundred microseconds and accept the point at infinity, with which anybody can sign.
/// This check takes one or two microseconds, and runs for every parsed certificate.
@safe struct NamedCurve: @unchecked Sendable {
    private let group: OpaquePointer

    /// The curve is immutable and never freed: every thread may use it until the process ends.
    private static let p256 = NamedCurve(NID_X9_62_prime256v1)
    private static let p384 = NamedCurve(NID_secp384r1)

    private init(_ identifier: Int32) {
        guard let group = unsafe EC_GROUP_new_by_curve_name(identifier) else {
            preconditionFailure("libcrypto has no curve \(identifier)")
        }
        unsafe self.group = unsafe group
    }

    /// Finds a curve by OpenSSL's number.
    ///
    /// `nil` for any other curve.
    init?(identifier: Int32) {
        switch identifier {
        case NID_X9_62_prime256v1: self = .p256
        case NID_secp384r1: self = .p384
        default: return nil
        }
    }

    /// Whether these octets (SEC 1 §2.3.3) are a point of the curve other than infinity.
    ///
    /// The cofactor of both curves is 1, so every such point is a public key (SEC 1 §3.2.2). A compressed point is
    /// left to the key decoder, because its check needs a square root.
    func holds(_ point: UnsafeBufferPointer<UInt8>) -> Bool {
        let isCompressed = unsafe point.first == 2 || point.first == 3
        guard !isCompressed else { return true }
        defer { ERR_clear_error() }
        let made = unsafe EC_POINT_new(group)
        guard let decoded = unsafe Handle<Resource.Point>(takingOwnershipOf: made) else { return false }
        let count = point.count
        return unsafe EC_POINT_oct2point(group, decoded.pointer, point.baseAddress, count, nil) == 1
            && EC_POINT_is_at_infinity(group, decoded.pointer) == 0
    }
}
