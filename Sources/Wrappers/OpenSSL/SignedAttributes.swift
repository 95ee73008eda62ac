internal import COpenSSL

/// The signed attributes of a PKCS #7 signer (RFC 2315 §9.2), borrowed from its message.
@safe struct SignedAttributes {
    /// The attributes as a `STACK_OF(X509_ATTRIBUTE)`.
    private let list: OpaquePointer

    init(_ list: OpaquePointer) { unsafe self.list = unsafe list }

    /// The bytes that the signature covers; empty if OpenSSL cannot encode them.
    ///
    /// The bytes are the DER of the SET OF, with its universal tag instead of the message's `[0]` (RFC 2315 §9.3).
    var encoded: [UInt8] { unsafe OctetBytes.encoded { unsafe ASN1_item_i2d(list, $0, PKCS7_ATTR_VERIFY_it()) } }

    /// Whether the attributes state the type `data` and the digest of this content, each once.
    func match(_ content: [UInt8], digest: SignatureDigest) -> Bool {
        guard let type = unsafe value(of: NID_pkcs9_contentType, as: V_ASN1_OBJECT),
            unsafe OBJ_obj2nid(type.pointee.value.object) == NID_pkcs7_data,
            let named = unsafe value(of: NID_pkcs9_messageDigest, as: V_ASN1_OCTET_STRING),
            let expected = Self.digest(content, digest)
        else { return false }
        return unsafe OctetBytes.of(named.pointee.value.octet_string) == expected
    }

    /// The value of an attribute, named by OpenSSL's NID.
    ///
    /// `nil` if the attribute is absent or repeated, or has several values or a value of another type.
    private func value(of attributeNID: Int32, as type: Int32) -> UnsafeMutablePointer<ASN1_TYPE>? {
        var found: UnsafeMutablePointer<ASN1_TYPE>?
        for index in 0..<max(0, unsafe OPENSSL_sk_num(list)) {
            let attribute = unsafe OpaquePointer(OPENSSL_sk_value(list, index))
            guard unsafe OBJ_obj2nid(X509_ATTRIBUTE_get0_object(attribute)) == attributeNID else { continue }
            guard unsafe found == nil, unsafe X509_ATTRIBUTE_count(attribute) == 1 else { return nil }
            unsafe found = unsafe X509_ATTRIBUTE_get0_type(attribute, 0)
        }
        guard let found = unsafe found, unsafe found.pointee.type == type else { return nil }
        return unsafe found
    }

    /// Computes the digest of a content.
    ///
    /// `nil` if OpenSSL does not know the digest or cannot compute it.
    private static func digest(_ content: [UInt8], _ digest: SignatureDigest) -> [UInt8]? {
        guard let name = digest.opensslName else { return nil }
        var output = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count = 0
        let status = unsafe EVP_Q_digest(nil, name, nil, content, content.count, &output, &count)
        return status == 1 ? Array(output.prefix(count)) : nil
    }
}

/// Copies of the content of OpenSSL's ASN.1 strings, and of its encodings.
enum OctetBytes {
    /// The DER that an OpenSSL encoder allocates; empty if the encoder fails.
    static func encoded(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32) -> [UInt8] {
        var output: UnsafeMutablePointer<UInt8>?
        let count = unsafe encode(&output)
        guard let start = unsafe output, count > 0 else { return [] }
        defer { unsafe CRYPTO_free(start, #file, #line) }
        return unsafe Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }

    /// Copies the content of a string; empty for NULL.
    static func of(_ string: UnsafeMutablePointer<ASN1_OCTET_STRING>?) -> [UInt8] {
        guard let string = unsafe string, let start = unsafe ASN1_STRING_get0_data(string) else { return [] }
        let count = Int(unsafe ASN1_STRING_length(string))
        return unsafe Array(UnsafeBufferPointer(start: start, count: count))
    }
}
