package import OpenSSL
import Platform
import Settings

/// A file of root certificates that an app entry names: one or more in PEM, or one in DER.
package enum RootFile {
    /// Maximum bytes of the file, so that a wrong path, such as a disk image's, is not read to its end.
    private static let bytesMax = 1 << 20

    /// Returns the file's certificates, at least one.
    ///
    /// - Throws: `RootFileError`, whose message completes "root file PATH: …".
    package static func certificates(at path: String) throws(RootFileError) -> [Certificate] {
        let bytes = try read(path)
        let blocks = PEM.blocks(labelled: "CERTIFICATE", in: bytes)
        let encoded = blocks.isEmpty ? [bytes] : blocks
        var certificates: [Certificate] = []
        for der in encoded {
            do throws(CertificateError) { certificates.append(try Certificate(der: der)) } catch {
                throw RootFileError(message: "expected certificates in PEM, or one in DER: \(error)")
            }
        }
        return certificates
    }

    private static func read(_ path: String) throws(RootFileError) -> [UInt8] {
        guard let file = InputFile(path: path) else { throw RootFileError(message: "cannot be read") }
        let read: [UInt8]?
        do throws(InputFileError) { read = try file.readWhole(atMost: bytesMax) } catch {
            throw RootFileError(message: "is empty or cannot be read")
        }
        guard let bytes = read else { throw RootFileError(message: "is larger than \(bytesMax) bytes") }
        guard !bytes.isEmpty else { throw RootFileError(message: "is empty or cannot be read") }
        return bytes
    }
}

package struct RootFileError: Error, Hashable, Sendable {
    /// The text that completes "root file PATH: …".
    package let message: String
}
