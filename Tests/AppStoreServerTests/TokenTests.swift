import AppStore
import Foundation
import JSON
import OpenSSL
import Testing

@testable import AppStoreServer

struct TokenTests {
    @Test func `a token has Apple's header and claims, and OpenSSL verifies its signature`() throws {
        let key = try PrivateKey.generate(.p256)
        let token = try TokenSource(Rig.credentials(key)).token(at: Rig.start)
        let parts = token.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        #expect(try Self.decoded(parts[0]) == Data(#"{"alg":"ES256","kid":"2X9R4HXF34","typ":"JWT"}"#.utf8))
        let claims =
            #"{"iss":"57246542-96fe-1a63-e053-0824d011072a","iat":1764115200,"#
            + #""exp":1764117000,"aud":"appstoreconnect-v1","bid":"com.example.app"}"#
        #expect(try Self.decoded(parts[1]) == Data(claims.utf8))
        #expect(try Self.verifies(token, key))
        #expect(try !Self.verifies(token, PrivateKey.generate(.p256)))
    }

    @Test func `a token is used for four minutes, and made again where the clock is set back`() throws {
        let source = TokenSource(try Rig.credentials(PrivateKey.generate(.p256)))
        func token(_ seconds: Int64) throws -> String {
            try source.token(at: Timestamp(milliseconds: Rig.start.milliseconds + seconds * 1_000 + 999))
        }
        let first = try token(0)
        #expect(try token(239) == first)
        let second = try token(240)
        #expect(second != first)
        #expect(try token(241) == second)
        #expect(try token(-1) != second)
    }

    @Test func `a key file as App Store Connect has it is read, and no other`() throws {
        let key = try Self.openssl(["genpkey", "-algorithm", "EC"] + Self.p256)
        #expect(String(decoding: key, as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        #expect(throws: Never.self) { try Self.credentials(key) }
        let encrypted = try Self.openssl(["pkcs8", "-topk8", "-v2", "aes256", "-passout", "pass:secret"], input: key)
        #expect(throws: KeyError.notPEM) { try Self.credentials(encrypted) }
        #expect("\(KeyError.notPEM)" == "expected PEM with a private key that is not encrypted")
        #expect(throws: KeyError.notPEM) { try Self.credentials(key.prefix(60)) }
        #expect(throws: KeyError.notPEM) { try Self.credentials(Data()) }
        let other = Data(try PrivateKey.generate(.p384).pem.utf8)
        #expect(throws: KeyError.notP256) { try Self.credentials(other) }
        let rsa = Data(try PrivateKey.generate(.rsa(bits: 2_048)).pem.utf8)
        #expect(throws: KeyError.notP256) { try Self.credentials(rsa) }
    }

    private static let p256 = ["-pkeyopt", "ec_paramgen_curve:P-256"]

    private static func credentials(_ file: Data) throws {
        _ = try APICredentials(
            bundleID: Rig.bundleID, environment: .production, issuerID: "", keyID: "", keyFile: Array(file))
    }

    private static func decoded(_ part: String) throws -> Data {
        let standard = part.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - part.utf8.count % 4) % 4)
        return try #require(Data(base64Encoded: standard + padding))
    }

    /// Verifies with the command line, which wants the signature in DER.
    private static func verifies(_ token: String, _ key: PrivateKey) throws -> Bool {
        let dot = try #require(token.lastIndex(of: "."))
        let raw = try decoded(String(token[token.index(after: dot)...]))
        try #require(raw.count == 64)
        let numbers = [raw.prefix(32), raw.suffix(32)].map { half in
            let digits = half.drop { $0 == 0 }
            let number = (digits.first ?? 0) < 0x80 ? Data(digits) : Data([0]) + digits
            return Data([2, UInt8(number.count)]) + number
        }
        let content = numbers[0] + numbers[1]
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let signature = folder.appending(path: "signature")
        let publicKey = folder.appending(path: "key.pem")
        try (Data([0x30, UInt8(content.count)]) + content).write(to: signature)
        let pem = PEM.encode(key.subjectPublicKeyInfo, label: "PUBLIC KEY")
        try Data(pem.utf8).write(to: publicKey)
        let answer = try openssl(
            ["dgst", "-sha256", "-verify", publicKey.path, "-signature", signature.path],
            input: Data(token[..<dot].utf8))
        return String(decoding: answer, as: UTF8.self) == "Verified OK\n"
    }

    private static func openssl(_ arguments: [String], input: Data = Data()) throws -> Data {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments
        let (standardInput, output) = (Pipe(), Pipe())
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        try standardInput.fileHandleForWriting.write(contentsOf: input)
        try standardInput.fileHandleForWriting.close()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return bytes
    }
}
