internal import COpenSSL

/// Copies what OpenSSL keeps in an ASN.1 string.
enum OctetBytes {
    /// Empty for NULL.
    static func of(_ string: UnsafeMutablePointer<ASN1_OCTET_STRING>?) -> [UInt8] {
        guard let string = unsafe string, let start = unsafe ASN1_STRING_get0_data(string) else {
            return []
        }
        let count = Int(unsafe ASN1_STRING_length(string))
        return unsafe Array(UnsafeBufferPointer(start: start, count: count))
    }
}
