internal import COpenSSL

/// The question whether a certificate is revoked (RFC 6960 §4.1.1), as it is sent to a responder.
///
/// The certificate is named by SHA-1 and no nonce is sent, as RFC 5019 §2.1.1 has it: responders of
/// large authorities sign their answers ahead of time, one for everybody.
package struct OCSPQuestion: Sendable {
    package let der: [UInt8]

    package init(
        about certificate: Certificate,
        issuedBy issuer: Certificate
    ) throws(OCSPError) {
        defer { ERR_clear_error() }
        let made = unsafe OCSP_REQUEST_new()
        guard let request = unsafe Handle<Resource.OCSPRequest>(takingOwnershipOf: made),
            let identifier = unsafe Self.identifier(of: certificate, issuedBy: issuer)
        else { throw OCSPError(.notAsked, "the certificates cannot be named") }
        // The request takes the identifier over, unless it fails.
        guard unsafe OCSP_request_add0_id(request.pointer, identifier) != nil else {
            unsafe OCSP_CERTID_free(identifier)
            throw OCSPError(.notAsked, "the certificates cannot be named")
        }
        var output: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_OCSP_REQUEST(request.pointer, &output)
        guard let start = unsafe output, count > 0 else {
            throw OCSPError(.notAsked, "the request cannot be written")
        }
        defer { unsafe CRYPTO_free(start, #file, #line) }
        der = unsafe Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }

    /// The caller owns what it gets.
    static func identifier(
        of certificate: Certificate,
        issuedBy issuer: Certificate
    ) -> OpaquePointer? {
        unsafe OCSP_cert_to_id(
            EVP_sha1(),
            certificate.outline.object.pointer,
            issuer.outline.object.pointer
        )
    }
}
