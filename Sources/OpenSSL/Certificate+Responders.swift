internal import COpenSSL

extension Certificate {
    /// Where the issuer says that revocation can be asked for (RFC 5280 §4.2.2.1), in its order.
    package var ocspResponders: [String] {
        defer { ERR_clear_error() }
        guard let addresses = unsafe X509_get1_ocsp(outline.object.pointer) else { return [] }
        defer { unsafe X509_email_free(addresses) }
        return unsafe (0..<OPENSSL_sk_num(addresses)).compactMap { index in
            let text = unsafe OPENSSL_sk_value(addresses, index)
            return unsafe text.map { start in
                unsafe String(cString: start.assumingMemoryBound(to: CChar.self))
            }
        }
    }
}
