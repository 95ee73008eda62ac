package import Foundation

/// A certificate authority of a test's own, and certificates for servers and users, as PEM files.
package struct TestCertificates: Sendable {
    /// A certificate with its key, each by the path of its file.
    package struct Issued: Sendable {
        package let certificate: String
        package let key: String
    }

    /// Certificates for tests of certificate checks.
    package let authority: String
    private let authorityKey: String
    private let folder: URL

    /// Makes an authority in a new folder, which the caller removes.
    package init(in folder: URL) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.init(
            authority: folder.appending(path: "ca.pem").path, key: folder.appending(path: "ca.key").path, folder: folder
        )
        try await run(
            ["req", "-x509"] + Self.newKey + ["-days", "30", "-keyout", authorityKey, "-out", authority] + [
                "-subj", "/CN=Authority of a test",
            ])
    }

    /// Issues by an authority that is there already.
    package init(authority: String, key: String, folder: URL) {
        self.authority = authority
        authorityKey = key
        self.folder = folder
    }

    /// - Parameters:
    ///   - name: the common name, which is the user's name or says nothing.
    ///   - hosts: a server's names, such as `DNS:localhost`.
    package func issue(_ name: String, hosts: String = "DNS:localhost") async throws -> Issued {
        let base = folder.appending(path: name).path
        let issued = Issued(certificate: base + ".crt", key: base + ".key")
        try Data("subjectAltName=\(hosts)\n".utf8).write(to: URL(filePath: base + ".ext"))
        try await run(["req"] + Self.newKey + ["-keyout", issued.key, "-out", base + ".csr", "-subj", "/CN=\(name)"])
        try await run(
            ["x509", "-req", "-in", base + ".csr", "-days", "30", "-extfile", base + ".ext"] + [
                "-CA", authority, "-CAkey", authorityKey, "-CAcreateserial",
            ] + ["-out", issued.certificate])
        return issued
    }

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

    private func run(_ arguments: [String]) async throws {
        let status = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Int32, any Error>) in
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/openssl")
            process.arguments = arguments
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            process.standardInput = FileHandle.nullDevice
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        guard status == 0 else { throw OpenSSLFailure(arguments: arguments) }
    }

    package struct OpenSSLFailure: Error { package let arguments: [String] }
}
