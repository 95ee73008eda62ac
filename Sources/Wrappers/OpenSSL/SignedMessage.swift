internal import COpenSSL

/// A PKCS #7 message (RFC 2315) with one signer and its own content, like a receipt.
///
/// OpenSSL parses the message after `MessageOutline` has limited its size and counted its certificates; only the form
/// is checked. Only one thread at a time may use an object.
@safe package final class SignedMessage {
    /// The signed octets, with the pieces of a constructed string joined.
    package let content: [UInt8]
    /// The digest of the signature, if the signer names SHA-1 or SHA-256 with RSA PKCS #1 v1.5.
    ///
    /// `nil` for any other algorithm.
    package let digest: SignatureDigest?

    private let message: Handle<Resource.SignedMessage>

    package init(_ outline: MessageOutline) throws(SignedMessageError) {
        defer { ERR_clear_error() }
        guard let message = Self.parse(outline.ber) else { throw .notSignedData }
        let signersCount = unsafe Self.signersCount(of: message.pointer)
        guard signersCount == 1 else { throw .signerCount(signersCount) }
        guard let content = unsafe Self.content(of: message.pointer) else { throw .noContent }
        self.content = content
        digest = unsafe Self.digest(of: message.pointer)
        self.message = message
    }

    /// Whether the message names the certificate as its signer, by issuer and serial number.
    package func isSigned(in certificate: Certificate) -> Bool {
        guard let signer = unsafe Self.signer(of: message.pointer), let name = unsafe signer.pointee.issuer_and_serial
        else { return false }
        let object = unsafe certificate.outline.object.pointer
        return unsafe X509_NAME_cmp(name.pointee.issuer, X509_get_issuer_name(object)) == 0
            && ASN1_INTEGER_cmp(name.pointee.serial, X509_get0_serialNumber(object)) == 0
    }

    /// Verifies the signature with a certificate's key, and the signed attributes if there are any.
    ///
    /// The signature then covers the attributes, which contain the content's type and digest.
    package func check(with certificate: Certificate) -> MessageCheck {
        defer { ERR_clear_error() }
        guard let digest, let signer = unsafe Self.signer(of: message.pointer) else { return .invalid }
        var signed = content
        if let attributes = unsafe signer.pointee.auth_attr {
            let list = unsafe SignedAttributes(attributes)
            guard list.match(content, digest: digest) else { return .wrongAttributes }
            signed = list.encoded
        }
        return certificate.withWhole { whole in
            guard let key = unsafe whole.flatMap({ unsafe X509_get0_pubkey($0.object.pointer) }),
                unsafe EVP_PKEY_get_base_id(key) == NID_rsaEncryption
            else { return .wrongKey }
            let signature = unsafe OctetBytes.of(signer.pointee.enc_digest)
            return unsafe Self.isSignature(signature, over: signed, digest, by: key) ? .valid : .invalid
        }
    }

    private static func isSignature(
        _ signature: [UInt8], over message: [UInt8], _ digest: SignatureDigest, by key: OpaquePointer
    ) -> Bool {
        let made = unsafe EVP_MD_CTX_new()
        guard let context = unsafe Handle<Resource.DigestContext>(takingOwnershipOf: made),
            let name = digest.opensslName,
            unsafe EVP_DigestVerifyInit_ex(context.pointer, nil, name, nil, nil, key, nil) == 1
        else { return false }
        return unsafe signature.withUnsafeBufferPointer { signature in
            unsafe message.withUnsafeBufferPointer { message in
                unsafe EVP_DigestVerify(
                    context.pointer, signature.baseAddress, signature.count, message.baseAddress, message.count) == 1
            }
        }
    }
}

/// The result of verifying the signature of a PKCS #7 message.
package enum MessageCheck: Hashable, Sendable {
    case valid
    /// The signature is well formed, but not made by this key over these bytes.
    case invalid
    /// The signed attributes lack the content type or the digest of the content, or contain wrong ones.
    case wrongAttributes
    /// The certificate's key is not an RSA key for PKCS #1 v1.5.
    case wrongKey
}

/// The reason why bytes are not a PKCS #7 message that this product reads.
package enum SignedMessageError: Error, Hashable, Sendable {
    /// The bytes are not BER within the bounds of depth and number of elements, or are truncated.
    case notBER
    /// Bytes follow the message.
    case trailingBytes
    /// The bytes are BER, but not the structure of SignedData over data.
    case notSignedData
    /// The message does not contain the signed content.
    case noContent
    case certificateCount(Int)
    case certificateTooLarge
    case signerCount(Int)
}

extension SignedMessage {
    /// Parses a message.
    ///
    /// `nil` if OpenSSL cannot read the bytes as SignedData.
    static func parse(_ ber: [UInt8]) -> Handle<Resource.SignedMessage>? {
        // The null library decodes no key of an embedded certificate, which would cost more than everything else; the
        // certificates are parsed separately.
        var object = unsafe PKCS7_new_ex(NullLibrary.shared.pointer, nil)
        let isRead = unsafe ber.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            // On failure this frees the object and sets the pointer to NULL.
            return unsafe d2i_PKCS7(&object, &position, buffer.count) != nil
        }
        let handle = unsafe Handle<Resource.SignedMessage>(takingOwnershipOf: object.map { OpaquePointer($0) })
        guard isRead, let handle, unsafe signedData(of: handle.pointer) != nil else { return nil }
        return handle
    }

    private static func signedData(of message: OpaquePointer) -> UnsafeMutablePointer<PKCS7_SIGNED>? {
        let message = unsafe UnsafeMutablePointer<PKCS7>(message)
        guard unsafe OBJ_obj2nid(message.pointee.type) == NID_pkcs7_signed else { return nil }
        return unsafe message.pointee.d.sign
    }

    static func signersCount(of message: OpaquePointer) -> Int {
        guard let signed = unsafe signedData(of: message) else { return 0 }
        return Int(max(0, unsafe OPENSSL_sk_num(signed.pointee.signer_info)))
    }

    /// The first signer, valid as long as the message.
    static func signer(of message: OpaquePointer) -> UnsafeMutablePointer<PKCS7_SIGNER_INFO>? {
        guard let signed = unsafe signedData(of: message) else { return nil }
        return unsafe OPENSSL_sk_value(signed.pointee.signer_info, 0)?.assumingMemoryBound(to: PKCS7_SIGNER_INFO.self)
    }

    /// Returns the content of a message.
    ///
    /// `nil` if the message has no content, or content of another type than data.
    static func content(of message: OpaquePointer) -> [UInt8]? {
        guard let signed = unsafe signedData(of: message), let contents = unsafe signed.pointee.contents,
            unsafe OBJ_obj2nid(contents.pointee.type) == NID_pkcs7_data, let data = unsafe contents.pointee.d.data
        else { return nil }
        return unsafe OctetBytes.of(data)
    }

    static func digest(of message: OpaquePointer) -> SignatureDigest? {
        guard let signer = unsafe signer(of: message), let digestAlgorithm = unsafe signer.pointee.digest_alg,
            let signatureAlgorithm = unsafe signer.pointee.digest_enc_alg
        else { return nil }
        let signature = unsafe OBJ_obj2nid(signatureAlgorithm.pointee.algorithm)
        switch unsafe OBJ_obj2nid(digestAlgorithm.pointee.algorithm) {
        case NID_sha1:
            let isRSA = signature == NID_rsaEncryption || signature == NID_sha1WithRSAEncryption
            return isRSA ? .sha1 : nil
        case NID_sha256:
            let isRSA = signature == NID_rsaEncryption || signature == NID_sha256WithRSAEncryption
            return isRSA ? .sha256 : nil
        default: return nil
        }
    }
}
