internal import COpenSSL

/// Turns the DER that OpenSSL signs into the r ‖ s that a JWS carries.
enum P256SignatureBytes {
    static func raw(fromDER der: [UInt8]) throws(KeyError) -> [UInt8] {
        let decoded = unsafe der.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &position, buffer.count)
        }
        guard let signature = unsafe Handle<Resource.Signature>(takingOwnershipOf: decoded) else {
            throw .notSigned
        }
        var raw = [UInt8](repeating: 0, count: P256Signature.byteCount)
        let isWritten = unsafe raw.withUnsafeMutableBufferPointer { output in
            guard let start = output.baseAddress else { return false }
            return unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature.pointer), start, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(signature.pointer), start + 32, 32) == 32
        }
        guard isWritten else { throw .notSigned }
        return raw
    }
}
