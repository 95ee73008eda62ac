import Foundation
import Simulation
package import OpenSSL
import Testing

/// `openssl ocsp` as a responder on 127.0.0.1, for the certificates of one issuer.
package final class OCSPServer: Sendable {
    /// The state of a certificate in the responder's index.
    package enum Entry: Sendable {
        case good
        /// A revocation, with its time in seconds since 1970.
        case revoked(since: Int64)
    }

    /// The signer of the answers, and its key.
    package struct Signer: Sendable {
        package let certificate: [UInt8]
        package let key: PrivateKey

        package init(certificate: [UInt8], key: PrivateKey) {
            self.certificate = certificate
            self.key = key
        }
    }

    package let port: UInt16
    private let folder: URL
    private let process: ChildProcess

    package static func isAvailable() -> Bool { FileManager.default.isExecutableFile(atPath: executable) }

    private static let executable = "/usr/bin/openssl"

    /// Starts it and waits until it listens.
    ///
    /// - Parameters:
    ///   - port: one that nothing listens on; the certificates name it.
    ///   - entries: by serial number; others are unknown to it.
    ///   - options: further ones of `openssl ocsp`, such as `-ndays 1` for a next update.
    package init(
        port: UInt16, issuer: [UInt8], signer: Signer, entries: [Int: Entry], options: [String] = ["-ndays", "1"]
    ) async throws {
        self.port = port
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Self.write(PEM.encode(issuer, label: "CERTIFICATE"), to: "issuer.pem", in: folder)
        let certificate = PEM.encode(signer.certificate, label: "CERTIFICATE")
        try Self.write(certificate, to: "signer.pem", in: folder)
        try Self.write(signer.key.pem, to: "key.pem", in: folder)
        try Self.write(Self.index(entries), to: "index.txt", in: folder)
        process = try ChildProcess(
            executable: Self.executable,
            arguments: [
                "ocsp", "-port", "\(port)", "-index", folder.appending(path: "index.txt").path, "-CA",
                folder.appending(path: "issuer.pem").path, "-rsigner", folder.appending(path: "signer.pem").path,
                "-rkey", folder.appending(path: "key.pem").path,
            ] + options, environment: ProcessInfo.processInfo.environment, standardOutput: .discarded,
            standardError: .file(path: folder.appending(path: "log").path))
        // Not by a connection: one that never sends a request keeps the server busy.
        await eventually("openssl ocsp does not listen") { [folder] in
            let log = try? String(contentsOf: folder.appending(path: "log"), encoding: .utf8)
            return log?.contains("waiting for OCSP client connections") ?? false
        }
    }

    /// Replaces what it knows, from its second answer on: it looks at the file after each.
    package func change(_ entries: [Int: Entry]) throws {
        try Self.write(Self.index(entries), to: "index.txt", in: folder)
    }

    package func stop() async throws {
        process.kill()
        try await process.waitForEnd(deadline: .hopeless)
        try FileManager.default.removeItem(at: folder)
    }

    private static func write(_ text: String, to file: String, in folder: URL) throws {
        // As a new file: the responder tells two writings of one second apart by that alone.
        try Data(text.utf8).write(to: folder.appending(path: file), options: .atomic)
    }

    /// The database of `openssl ca`: status, end, revocation, serial, file, subject.
    private static func index(_ entries: [Int: Entry]) -> String {
        entries.sorted { $0.key < $1.key }.map { serial, entry in
            let digits = String(serial, radix: 16, uppercase: true)
            let number = digits.count % 2 == 0 ? digits : "0\(digits)"
            let end = "491231235959Z"
            return switch entry {
            case .good: "V\t\(end)\t\t\(number)\tunknown\t/CN=\(serial)\n"
            case .revoked(let since): "R\t\(end)\t\(date(since))\t\(number)\tunknown\t/CN=\(serial)\n"
            }
        }.joined()
    }

    private static func date(_ seconds: Int64) -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "yyMMddHHmmss'Z'"
        return format.string(from: Date(timeIntervalSince1970: TimeInterval(seconds)))
    }
}
