internal import COpenSSL

extension Certificate {
    /// The subject's name for people: `CN = …, O = …`.
    ///
    /// The creator of the certificate chose the name, so it is not trustworthy. Control characters are escaped; other
    /// text that a terminal or a browser interprets is not.
    package var subject: String {
        unsafe Self.text { output in unsafe shim_print_name(output, X509_get_subject_name(outline.object.pointer)) }
    }

    /// The issuer's name in the certificate, for people, in the form of `subject`.
    package var issuer: String {
        unsafe Self.text { output in unsafe shim_print_name(output, X509_get_issuer_name(outline.object.pointer)) }
    }

    /// The serial number in hexadecimal digits.
    package var serialNumber: String {
        unsafe Self.text { output in unsafe i2a_ASN1_INTEGER(output, X509_get0_serialNumber(outline.object.pointer)) }
    }

    /// The text that an OpenSSL function writes; empty if the function fails.
    private static func text(_ write: (OpaquePointer) -> Int32) -> String {
        defer { ERR_clear_error() }
        guard let output = unsafe BIO_new(BIO_s_mem()) else { return "" }
        defer { unsafe BIO_free(output) }
        guard unsafe write(output) >= 0 else { return "" }
        let count = unsafe BIO_ctrl_pending(output)
        var bytes = [UInt8](repeating: 0, count: count)
        let read = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe BIO_read(output, buffer.baseAddress, Int32(clamping: buffer.count))
        }
        return String(decoding: bytes.prefix(Int(max(0, read))), as: UTF8.self)
    }
}
