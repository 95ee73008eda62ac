internal import COpenSSL

/// PEM text (RFC 7468), read and written by OpenSSL.
package enum PEM {
    /// The contents of every block with this label, in order; all other text is skipped.
    package static func blocks(labelled label: String, in text: [UInt8]) -> [[UInt8]] {
        defer { ERR_clear_error() }
        return unsafe withReader(of: text) { reader in
            var blocks: [[UInt8]] = []
            while let block = unsafe next(from: reader) { if block.label == label { blocks.append(block.bytes) } }
            return blocks
        }
    }

    package static func encode(_ bytes: [UInt8], label: String) -> String {
        var text = "-----BEGIN \(label)-----\n"
        var line = [UInt8](repeating: 0, count: 65)
        for start in stride(from: 0, to: bytes.count, by: 48) {
            let part = Array(bytes[start..<min(start + 48, bytes.count)])
            let count = unsafe EVP_EncodeBlock(&line, part, Int32(part.count))
            text += String(decoding: line[0..<Int(count)], as: UTF8.self) + "\n"
        }
        return text + "-----END \(label)-----\n"
    }

    /// Calls `body` with a reader of `text`.
    static func withReader<Result>(of text: [UInt8], _ body: (OpaquePointer) -> Result) -> Result {
        unsafe text.withUnsafeBytes { buffer in
            let count = Int32(clamping: buffer.count)
            let made = count == 0 ? unsafe BIO_new(BIO_s_mem()) : unsafe BIO_new_mem_buf(buffer.baseAddress, count)
            guard let reader = unsafe Handle<Resource.MemoryBuffer>(takingOwnershipOf: made) else {
                preconditionFailure("out of memory for a reader")
            }
            return unsafe body(reader.pointer)
        }
    }

    private static func next(from reader: OpaquePointer) -> (label: String, bytes: [UInt8])? {
        var name: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var data: UnsafeMutablePointer<UInt8>?
        var count = 0
        guard unsafe PEM_read_bio(reader, &name, &header, &data, &count) == 1 else { return nil }
        defer {
            unsafe CRYPTO_free(name, #file, #line)
            unsafe CRYPTO_free(header, #file, #line)
            unsafe CRYPTO_free(data, #file, #line)
        }
        guard let name = unsafe name, let data = unsafe data else { return nil }
        return unsafe (String(cString: name), Array(UnsafeBufferPointer(start: data, count: count)))
    }
}

extension Certificate {
    /// Reads a file of certificates: one in DER, or any number of PEM blocks.
    ///
    /// Throws the error of the first invalid certificate, and `.notPEM` if the file has no certificate.
    package static func all(inFile bytes: [UInt8]) throws(CertificateError) -> [Certificate] {
        if bytes.first == 0x30 { return [try Certificate(der: bytes)] }
        let blocks = PEM.blocks(labelled: "CERTIFICATE", in: bytes)
        guard !blocks.isEmpty else { throw .notPEM }
        var certificates: [Certificate] = []
        for der in blocks { certificates.append(try Certificate(der: der)) }
        return certificates
    }

    package var pem: String { PEM.encode(der, label: "CERTIFICATE") }
}

extension PrivateKey {
    /// The key in its traditional form (RFC 5915, RFC 8017), for programs that read files.
    package var pem: String {
        let der = unsafe OctetBytes.encoded { unsafe i2d_PrivateKey(key.pointer, $0) }
        let label = if case .rsa = kind { "RSA PRIVATE KEY" } else { "EC PRIVATE KEY" }
        return der.isEmpty ? "" : PEM.encode(der, label: label)
    }
}
