import Foundation
package import OpenSSL

/// A file of root certificates that an app entry names: PEM, several allowed, or one in DER.
package enum RootFile {
    /// A wrong path, such as one of a disk image, is not read to its end.
    private static let bytesMax = 1 << 20

    /// The file's certificates, at least one.
    ///
    /// - Throws: `RootFileError`, whose message completes "root file PATH: …".
    package static func certificates(at path: String) throws(RootFileError) -> [Certificate] {
        let bytes = try read(path)
        let blocks = PEM.blocks(labelled: "CERTIFICATE", in: bytes)
        let encoded = blocks.isEmpty ? [bytes] : blocks
        var certificates: [Certificate] = []
        for der in encoded {
            do throws(CertificateError) {
                certificates.append(try Certificate(der: der))
            } catch {
                throw RootFileError(
                    message: "expected certificates in PEM, or one in DER: \(error)"
                )
            }
        }
        return certificates
    }

    private static func read(_ path: String) throws(RootFileError) -> [UInt8] {
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw RootFileError(message: "cannot be read")
        }
        defer { try? handle.close() }
        guard let data = try? handle.read(upToCount: bytesMax + 1), !data.isEmpty else {
            throw RootFileError(message: "is empty or cannot be read")
        }
        guard data.count <= bytesMax else {
            throw RootFileError(message: "is larger than \(bytesMax) bytes")
        }
        return Array(data)
    }
}
