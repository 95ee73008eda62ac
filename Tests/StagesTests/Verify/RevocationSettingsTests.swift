import AppStore
import Foundation
import OpenSSL
import Settings
import TestSupport
import Testing
import Simulation
import Topology
import VerifyStage
import Worker

/// `verify.revocation=hard` is refused if a certificate could never get an answer.
@Suite struct RevocationSettingsTests {
    private static func problems(
        _ mode: RevocationPolicy.Mode, environment: String = "Sandbox", root: CertificateAuthority
    ) throws -> [SettingProblem] {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let pem = folder.appending(path: "root.pem")
        try Data(root.rootPEM.utf8).write(to: pem)
        let settings = """
            {"kafka": {"bootstrap": "127.0.0.1:9"}, "verify": {"revocation": "\(mode.rawValue)"},
             "apps": [{"bundle_id": "com.example.pro", "environment": "\(environment)",
              "roots": ["\(pem.path)"]}]}
            """
        let path = folder.appending(path: "settings.json")
        try Data(settings.utf8).write(to: path)
        let source = SettingsSource(
            schema: WorkerProgram.verify.schema, environment: [:], filePath: path.path,
            problems: { WorkerProcess.problems(.verify, $0) })
        do {
            _ = try source.read()
            return []
        } catch { return error.problems }
    }

    private static func authority(responder: String?) throws -> CertificateAuthority {
        try CertificateAuthority { blueprint in
            if let responder { blueprint.root.extensions.append(.ocspResponder(at: responder)) }
        }
    }

    @Test(arguments: [nil, "https://ocsp.example.com/", "ldap://ocsp.example.com/"])
    func `hard is refused with a root that names no responder`(responder: String?) throws {
        let authority = try Self.authority(responder: responder)
        let problems = try Self.problems(.hard, root: authority)
        #expect(problems.map(\.setting) == ["verify.revocation"])
        let message = try #require(problems.first?.message)
        #expect(message.contains("names no OCSP responder") && message.contains("use soft"))
        #expect(message.contains(SHA256.digest(authority.root).hex))
        #expect(message.contains("com.example.pro in Sandbox"))
    }

    @Test func `hard is accepted with a responder, other modes with any root`() throws {
        let named = try Self.authority(responder: "http://ocsp.example.com/")
        #expect(try Self.problems(.hard, root: named).isEmpty)
        let unnamed = try Self.authority(responder: nil)
        #expect(try Self.problems(.soft, root: unnamed).isEmpty)
        #expect(try Self.problems(.off, root: unnamed).isEmpty)
        let xcode = try CertificateAuthority.xcode()
        #expect(try Self.problems(.hard, environment: "Xcode", root: xcode).isEmpty)
    }

    @Test func `a root's responder stands in, and without any no record waits`() throws {
        func subject(_ authority: CertificateAuthority) throws -> RevocationBook.Subject {
            RevocationBook.Subject(
                try Certificate(der: authority.leaf), issuedBy: try Certificate(der: authority.intermediate),
                below: try Certificate(der: authority.root))
        }
        let address = "http://ocsp.example.com/"
        let named = try subject(Self.authority(responder: address))
        #expect(named.responders == [address])
        let own = try RevocableAuthority(port: 9)
        #expect(try subject(own.authority).responders == ["http://127.0.0.1:9/intermediate"])
        let unnamed = try subject(Self.authority(responder: nil))
        #expect(unnamed.responders.isEmpty)
        var book = RevocationBook(interval: .seconds(60))
        book.add(named)
        book.add(unnamed)
        let statuses = book.statuses(at: Timestamp(milliseconds: 1_767_225_600_000))
        #expect(statuses[named.certificate.fingerprint] == .unknown)
        #expect(statuses[unnamed.certificate.fingerprint] == .unanswerable)
    }
}
