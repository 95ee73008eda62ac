internal import COpenSSL

extension SignedMessage {
    /// Nil where OpenSSL cannot read the bytes as SignedData.
    static func parse(_ ber: [UInt8]) -> Handle<Resource.SignedMessage>? {
        // In the null library no key of an embedded certificate is decoded: that costs more than
        // all the rest, and the certificates are parsed apart.
        var object = unsafe PKCS7_new_ex(NullLibrary.shared.pointer, nil)
        let isRead = unsafe ber.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            // On failure this frees the object and sets the pointer to NULL.
            return unsafe d2i_PKCS7(&object, &position, buffer.count) != nil
        }
        let handle = unsafe Handle<Resource.SignedMessage>(
            takingOwnershipOf: object.map { OpaquePointer($0) }
        )
        guard isRead, let handle, unsafe signedData(of: handle.pointer) != nil else { return nil }
        return handle
    }

    private static func signedData(
        of message: OpaquePointer
    ) -> UnsafeMutablePointer<PKCS7_SIGNED>? {
        let message = unsafe UnsafeMutablePointer<PKCS7>(message)
        guard unsafe OBJ_obj2nid(message.pointee.type) == NID_pkcs7_signed else { return nil }
        return unsafe message.pointee.d.sign
    }

    static func signersCount(of message: OpaquePointer) -> Int {
        guard let signed = unsafe signedData(of: message) else { return 0 }
        return Int(max(0, unsafe OPENSSL_sk_num(signed.pointee.signer_info)))
    }

    /// The first signer, which lives as long as the message.
    static func signer(of message: OpaquePointer) -> UnsafeMutablePointer<PKCS7_SIGNER_INFO>? {
        guard let signed = unsafe signedData(of: message) else { return nil }
        return unsafe OPENSSL_sk_value(signed.pointee.signer_info, 0)?
            .assumingMemoryBound(to: PKCS7_SIGNER_INFO.self)
    }

    /// Nil where the message holds no content, or content of another type than data.
    static func content(of message: OpaquePointer) -> [UInt8]? {
        guard let signed = unsafe signedData(of: message),
            let contents = unsafe signed.pointee.contents,
            unsafe OBJ_obj2nid(contents.pointee.type) == NID_pkcs7_data,
            let data = unsafe contents.pointee.d.data
        else { return nil }
        return unsafe OctetBytes.of(data)
    }

    static func digest(of message: OpaquePointer) -> SignatureDigest? {
        guard let signer = unsafe signer(of: message),
            let digestAlgorithm = unsafe signer.pointee.digest_alg,
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
        default:
            return nil
        }
    }
}
