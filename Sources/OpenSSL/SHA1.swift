internal import COpenSSL

/// SHA-1, for old receipts minted in tests; nothing is believed for it.
package enum SHA1 {
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: 20)
        var count = 0
        let status = unsafe EVP_Q_digest(nil, "SHA1", nil, bytes, bytes.count, &output, &count)
        precondition(status == 1 && count == output.count, "libcrypto cannot compute SHA-1")
        return output
    }
}
