import Foundation
import Simulation
import TestSupport
import Testing

@testable import HTTP

/// A server with a certificate.
@Suite(.timeLimit(.minutes(10))) struct HTTPSTests {
    private let authority: ServerAuthority

    init() throws { authority = try ServerAuthority() }

    private func server(of host: String = "localhost", _ answer: @escaping HTTPServer.Answer) throws -> HTTPServer {
        try HTTPServer(
            address: "127.0.0.1", port: 0, limits: .standard, identity: authority.identity(of: [host]), answer: answer)
    }

    private func send(
        to server: HTTPServer, host: String = "localhost", trusting trusted: ServerAuthority? = nil,
        body: [UInt8]? = nil
    ) async throws -> CurlProgram.Answer {
        try await CurlProgram.send(
            "https://\(host):\(server.port)/", trusting: (trusted ?? authority).rootPEM, body: body)
    }

    @Test(arguments: ["localhost", "127.0.0.1"]) func `a client that trusts the authority sends and reads whole bodies`(
        host: String
    ) async throws {
        let server = try server(of: host) { HTTPResponse(body: $0.body.reversed()) }
        let body = (0..<60_000).map { UInt8(truncatingIfNeeded: $0) }
        let answer = try await send(to: server, host: host, body: body)
        #expect(answer.exitCode == 0 && answer.status == 200)
        #expect(answer.body == body.reversed())
    }

    @Test func `a client refuses a foreign authority and the certificate of another host`() async throws {
        let server = try server { _ in .text("never read\n") }
        let foreign = try await send(to: server, trusting: try ServerAuthority())
        // CURLE_PEER_FAILED_VERIFICATION
        #expect(foreign.exitCode == 60 && foreign.body.isEmpty)
        let other = try await send(to: server, host: "127.0.0.1")
        #expect(other.exitCode == 60 && other.body.isEmpty)
    }

    @Test func `a server with a certificate answers nobody without TLS`() throws {
        let server = try server { _ in .text("never read\n") }
        let answer = try RawClient.exchange("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", port: server.port)
        #expect(!answer.contains("HTTP/1.1"))
    }

    @Test func `a client without a request is cut off over TLS too`() async throws {
        var limits = HTTPLimits.standard
        limits.headDurationMax = .milliseconds(300)
        let server = try HTTPServer(
            address: "127.0.0.1", port: 0, limits: limits, identity: authority.identity(of: ["localhost"])
        ) { _ in .text("never read\n") }
        let client = try RawClient(port: server.port)
        await eventually { client.isClosed }
    }

    @Test(arguments: ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    func `a certificate that cannot be read is an error at the start`(text: String) {
        let error = #expect(throws: HTTPServerError.self) {
            try HTTPServer(
                address: "127.0.0.1", port: 0, limits: .standard, identity: HTTPIdentity(certificates: text, key: text)
            ) { _ in .text("") }
        }
        #expect(error?.description.contains("certificate") == true)
    }
}
