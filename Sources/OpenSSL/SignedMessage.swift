internal import COpenSSL

/// A PKCS #7 message (RFC 2315) of one signer over content that it holds, as receipts are.
///
/// Parsed by OpenSSL after `MessageOutline` has bounded its size and counted its certificates;
/// nothing in it is judged but its form. For one thread at a time.
@safe
package final class SignedMessage {
    /// The octets that are signed, the pieces of a constructed string put together.
    package let content: [UInt8]
    /// What the signature is made over, where that and RSA PKCS #1 v1.5 are what the signer says;
    /// nil for any other algorithm.
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

    /// Whether the message names the certificate as its signer's, by issuer and serial number.
    package func isSigned(in certificate: Certificate) -> Bool {
        guard let signer = unsafe Self.signer(of: message.pointer),
            let name = unsafe signer.pointee.issuer_and_serial
        else { return false }
        let object = unsafe certificate.outline.object.pointer
        return unsafe X509_NAME_cmp(name.pointee.issuer, X509_get_issuer_name(object)) == 0
            && ASN1_INTEGER_cmp(name.pointee.serial, X509_get0_serialNumber(object)) == 0
    }

    /// Verifies the signature with a certificate's key, and the signed attributes where there are
    /// any: then it is they that are signed, and they name the content's type and digest.
    package func check(with certificate: Certificate) -> MessageCheck {
        defer { ERR_clear_error() }
        guard let digest, let signer = unsafe Self.signer(of: message.pointer) else {
            return .invalid
        }
        var signed = content
        if let attributes = unsafe signer.pointee.auth_attr {
            let list = unsafe SignedAttributes(attributes)
            guard list.name(digest: digest, of: content) else { return .wrongAttributes }
            signed = list.encoded
        }
        return certificate.withWhole { whole in
            guard let key = unsafe whole.flatMap({ unsafe X509_get0_pubkey($0.object.pointer) }),
                unsafe EVP_PKEY_get_base_id(key) == NID_rsaEncryption
            else { return .wrongKey }
            let signature = unsafe OctetBytes.of(signer.pointee.enc_digest)
            return unsafe Self.isSignature(signature, over: signed, digest, by: key)
                ? .valid : .invalid
        }
    }

    private static func isSignature(
        _ signature: [UInt8],
        over message: [UInt8],
        _ digest: SignatureDigest,
        by key: OpaquePointer
    ) -> Bool {
        let made = unsafe EVP_MD_CTX_new()
        guard let context = unsafe Handle<Resource.DigestContext>(takingOwnershipOf: made),
            let name = digest.opensslName,
            unsafe EVP_DigestVerifyInit_ex(context.pointer, nil, name, nil, nil, key, nil) == 1
        else { return false }
        return unsafe signature.withUnsafeBufferPointer { signature in
            unsafe message.withUnsafeBufferPointer { message in
                unsafe EVP_DigestVerify(
                    context.pointer,
                    signature.baseAddress,
                    signature.count,
                    message.baseAddress,
                    message.count
                ) == 1
            }
        }
    }
}
