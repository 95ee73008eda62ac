internal import COpenSSL

/// The only owner of an OpenSSL object.
///
/// The object is freed when the handle ends. `pointer` is borrowed: it is valid only while the handle exists.
@safe struct Handle<Kind: Freeable>: ~Copyable {
    let pointer: OpaquePointer

    init(takingOwnershipOf pointer: OpaquePointer) { unsafe self.pointer = unsafe pointer }

    /// Takes ownership of OpenSSL's result.
    ///
    /// `nil` if OpenSSL returned NULL.
    init?(takingOwnershipOf pointer: OpaquePointer?) {
        guard let pointer = unsafe pointer else { return nil }
        unsafe self.pointer = unsafe pointer
    }

    deinit { unsafe Kind.free(pointer) }
}

extension Handle {
    /// Decodes DER that occupies all of the bytes.
    ///
    /// `nil` if OpenSSL cannot read the DER, or bytes follow it.
    ///
    /// - Parameter decode: OpenSSL's decoder, which moves `position` behind the bytes that it has read.
    static func decoding(
        _ der: [UInt8], _ decode: (_ position: inout UnsafePointer<UInt8>?, _ count: Int) -> OpaquePointer?
    ) -> Handle? {
        var isWhole = false
        let made = unsafe der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            guard let start = buffer.baseAddress else { return nil }
            var position: UnsafePointer<UInt8>? = unsafe start
            let made = unsafe decode(&position, buffer.count)
            isWhole = unsafe position == start + buffer.count
            return unsafe made
        }
        guard let handle = unsafe Handle(takingOwnershipOf: made), isWhole else { return nil }
        return handle
    }
}

/// A kind of OpenSSL object, and the call that frees it.
protocol Freeable {
    /// Frees an object that the caller owns; `pointer` is invalid afterwards.
    static func free(_ pointer: OpaquePointer)
}

/// The kinds of OpenSSL objects this module owns.
enum Resource {
    enum CertificateObject: Freeable { static func free(_ pointer: OpaquePointer) { unsafe X509_free(pointer) } }

    enum Key: Freeable { static func free(_ pointer: OpaquePointer) { unsafe EVP_PKEY_free(pointer) } }

    enum Point: Freeable { static func free(_ pointer: OpaquePointer) { unsafe EC_POINT_free(pointer) } }

    enum Group: Freeable { static func free(_ pointer: OpaquePointer) { unsafe EC_GROUP_free(pointer) } }

    /// Temporary numbers.
    enum NumberContext: Freeable { static func free(_ pointer: OpaquePointer) { unsafe BN_CTX_free(pointer) } }

    enum KeyContext: Freeable { static func free(_ pointer: OpaquePointer) { unsafe EVP_PKEY_CTX_free(pointer) } }

    enum DigestContext: Freeable { static func free(_ pointer: OpaquePointer) { unsafe EVP_MD_CTX_free(pointer) } }

    enum ObjectIdentifier: Freeable { static func free(_ pointer: OpaquePointer) { unsafe ASN1_OBJECT_free(pointer) } }

    enum Signature: Freeable { static func free(_ pointer: OpaquePointer) { unsafe ECDSA_SIG_free(pointer) } }

    enum SignedMessage: Freeable {
        static func free(_ pointer: OpaquePointer) { unsafe PKCS7_free(UnsafeMutablePointer(pointer)) }
    }

    enum OCSPRequest: Freeable { static func free(_ pointer: OpaquePointer) { unsafe OCSP_REQUEST_free(pointer) } }

    enum OCSPResponse: Freeable { static func free(_ pointer: OpaquePointer) { unsafe OCSP_RESPONSE_free(pointer) } }

    enum OCSPBasicResponse: Freeable {
        static func free(_ pointer: OpaquePointer) { unsafe OCSP_BASICRESP_free(pointer) }
    }

    enum OCSPIdentifier: Freeable { static func free(_ pointer: OpaquePointer) { unsafe OCSP_CERTID_free(pointer) } }

    enum Store: Freeable { static func free(_ pointer: OpaquePointer) { unsafe X509_STORE_free(pointer) } }

    /// A list of objects that the list does not own.
    enum Borrowings: Freeable { static func free(_ pointer: OpaquePointer) { unsafe OPENSSL_sk_free(pointer) } }

    enum MemoryBuffer: Freeable { static func free(_ pointer: OpaquePointer) { unsafe BIO_free_all(pointer) } }
}
