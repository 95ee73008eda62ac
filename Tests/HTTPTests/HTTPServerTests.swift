import Foundation
import Simulation
import TestSupport
import Testing

@testable import HTTP

@Suite struct HTTPServerTests {
    private static let routes = [
        HTTPRoute(.get, "/hello") { request in .text("hello \(request.query["name"] ?? "nobody")\n") },
        HTTPRoute(.post, "/echo") { request in
            HTTPResponse(headers: ["X-Count": "\(request.body.count)"], body: request.body)
        },
    ]

    private func server(_ change: (inout HTTPLimits) -> Void = { _ in }) throws -> HTTPServer {
        var limits = HTTPLimits.standard
        change(&limits)
        return try HTTPServer(routes: Self.routes, limits: limits)
    }

    private func exchange(_ server: HTTPServer, _ requestLine: String, headers: String = "", body: String = "") throws
        -> String
    { try RawClient.exchange("\(requestLine) HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n\(body)", port: server.port) }

    @Test func `port 0 becomes the port that is in use`() throws {
        let server = try server()
        #expect(server.port != 0)
        let answer = try exchange(server, "GET /hello?name=a%20b")
        #expect(answer.hasPrefix("HTTP/1.1 200 "))
        #expect(answer.hasSuffix("\r\n\r\nhello a b\n"))
        #expect(answer.contains("Connection: close\r\n"))
    }

    @Test func `HEAD is answered like GET without the body`() throws {
        let server = try server()
        let answer = try exchange(server, "HEAD /hello")
        #expect(answer.hasPrefix("HTTP/1.1 200 "))
        #expect(answer.contains("Content-Length: 13\r\n"))
        #expect(answer.hasSuffix("\r\n\r\n"))
    }

    @Test func `an unknown path is 404`() throws {
        let server = try server()
        #expect(try exchange(server, "GET /hello/").hasPrefix("HTTP/1.1 404 "))
    }

    @Test(arguments: ["POST /hello", "BREW /hello"]) func `a wrong method is 405 and names the right ones`(
        requestLine: String
    ) throws {
        let server = try server()
        let answer = try exchange(server, requestLine, headers: "Content-Length: 0\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 405 "))
        #expect(answer.contains("Allow: GET, HEAD\r\n"))
    }

    @Test func `a body within the limit arrives whole`() throws {
        let server = try server { $0.bodyBytesMax = 200_000 }
        let body = String(repeating: "0123456789", count: 20_000)
        let answer = try exchange(server, "POST /echo", headers: "Content-Length: \(body.utf8.count)\r\n", body: body)
        #expect(answer.hasPrefix("HTTP/1.1 200 "))
        #expect(answer.contains("X-Count: 200000\r\n"))
        #expect(answer.hasSuffix(body))
    }

    @Test func `an announced body above the limit is refused before it is read`() throws {
        let server = try server { $0.bodyBytesMax = 10 }
        let answer = try exchange(server, "POST /echo", headers: "Content-Length: 11\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 413 "))
    }

    @Test func `an unannounced body above the limit is refused`() throws {
        let server = try server { $0.bodyBytesMax = 10 }
        let answer = try exchange(
            server, "POST /echo", headers: "Transfer-Encoding: chunked\r\n",
            body: "8\r\n01234567\r\n8\r\n01234567\r\n0\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 413 "))
    }

    @Test func `a header above the limit is refused`() throws {
        let server = try server { $0.headerBytesMax = 4096 }
        let long = String(repeating: "x", count: 8192)
        let answer = try exchange(server, "GET /hello", headers: "X-Long: \(long)\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 431 "))
    }

    @Test func `garbage is refused and the next client served`() throws {
        let server = try server { $0.requestDurationMax = .milliseconds(300) }
        #expect(!(try RawClient.exchange("\u{0}\u{1}\r\n\r\n", port: server.port)).contains(" 200 "))
        #expect(try exchange(server, "GET /hello").hasPrefix("HTTP/1.1 200 "))
    }

    @Test func `a client that drips its request is cut off at the deadline`() throws {
        let server = try server {
            $0.requestDurationMax = .milliseconds(300)
            $0.idleDurationMax = .seconds(60)
        }
        let began = ContinuousClock.now
        let client = try RawClient(port: server.port)
        client.send("GET /hello HTTP/1.1\r\n")
        #expect(!client.readAll().contains(" 200 "))
        let lasted = ContinuousClock.now - began
        #expect(lasted >= .milliseconds(250))
        #expect(lasted < .seconds(10))
    }

    @Test func `a silent client is cut off by the idle limit`() throws {
        let server = try server {
            $0.requestDurationMax = .seconds(60)
            $0.idleDurationMax = .seconds(1)
        }
        let began = ContinuousClock.now
        let client = try RawClient(port: server.port)
        #expect(!client.readAll().contains(" 200 "))
        #expect(ContinuousClock.now - began < .seconds(15))
    }

    @Test func `a connection above the limit takes the place of the slowest`() throws {
        let server = try server {
            $0.connectionsMax = 2
            $0.headDurationMax = .seconds(60)
            $0.requestDurationMax = .seconds(60)
            $0.idleDurationMax = .seconds(60)
        }
        let first = try RawClient(port: server.port)
        first.send("GET /hello HTTP/1.1\r\n")
        let second = try RawClient(port: server.port, from: 2)
        second.send("GET /hello HTTP/1.1\r\n")
        #expect(try exchange(server, "GET /hello").hasPrefix("HTTP/1.1 200 "))
        #expect(first.readAll().isEmpty)
        second.send("\r\n")
        #expect(second.readAll().hasPrefix("HTTP/1.1 "))
    }

    /// The probe has another address, or the attacker's if both come through one proxy.
    @Test(arguments: [2, 1] as [UInt8]) func `two hundred slow connections of one address keep no probe out`(
        source: UInt8
    ) throws {
        let server = try server()
        let slow = try SlowClients(200, port: server.port)
        let began = ContinuousClock.now
        for _ in 0..<20 {
            let answer = try RawClient.exchange(
                "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", port: server.port, from: source)
            #expect(answer.hasPrefix("HTTP/1.1 200 "))
        }
        #expect(ContinuousClock.now - began < .seconds(60))
        #expect(slow.openCount <= 16)
    }

    @Test func `slow connections of many addresses keep no probe out`() throws {
        let server = try server()
        let slow = try (2..<20).map { try SlowClients(11, port: server.port, from: $0) }
        let began = ContinuousClock.now
        #expect(try exchange(server, "GET /hello").hasPrefix("HTTP/1.1 200 "))
        #expect(ContinuousClock.now - began < .seconds(60))
        #expect(slow.reduce(0) { $0 + $1.openCount } <= 64)
    }

    @Test func `a head has a shorter deadline than the body that follows it`() throws {
        let server = try server {
            $0.headDurationMax = .milliseconds(300)
            $0.requestDurationMax = .seconds(60)
            $0.idleDurationMax = .seconds(60)
        }
        let body = try RawClient(port: server.port)
        body.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\na")
        let head = try RawClient(port: server.port)
        head.send("GET /hello HTTP/1.1\r\n")
        #expect(head.readAll().isEmpty)
        let isCutOff = body.isClosed
        #expect(!isCutOff)
        body.send("b")
        #expect(body.readAll().hasSuffix("\r\n\r\nab"))
    }

    @Test func `an IPv6 address counts by its network, a mapped one as what it maps`() {
        let one = PeerNetwork(IPAddress("2001:db8:1:2::1"))
        #expect(one == PeerNetwork(IPAddress("2001:db8:1:2:ffff::7")))
        #expect(one != PeerNetwork(IPAddress("2001:db8:1:3::1")))
        #expect(PeerNetwork(IPAddress("::ffff:10.1.2.3")) == PeerNetwork(IPAddress("10.1.2.3")))
        #expect(PeerNetwork(IPAddress("10.1.2.4")) != PeerNetwork(IPAddress("10.1.2.3")))
    }

    @Test func `stop ends the connections and frees the port`() throws {
        let server = try server()
        let client = try RawClient(port: server.port)
        client.send("GET /hello HTTP/1.1\r\n")
        server.stop()
        server.stop()
        #expect(client.readAll().isEmpty)
        let again = try HTTPServer(port: server.port, routes: Self.routes)
        #expect(again.port == server.port)
    }

    @Test func `a port in use is named`() throws {
        let server = try server()
        let error = #expect(throws: HTTPServerError.self) { try HTTPServer(port: server.port, routes: []) }
        #expect(error?.code == .portInUse)
        #expect(error?.description.contains("\(server.port)") == true)
    }

    @Test(arguments: ["localhost.example", "203.0.113.1", ""]) func `an address that is not this machine's is named`(
        address: String
    ) throws {
        let error = #expect(throws: HTTPServerError.self) { try HTTPServer(address: address, routes: []) }
        #expect(error?.code == .addressUnusable)
    }
}

/// Connections of one address that have each sent a part of a head and nothing more.
private final class SlowClients {
    private final class Slow {
        let client: RawClient

        init(port: UInt16, from source: UInt8) throws {
            client = try RawClient(port: port, from: source)
            client.send("GET /hello HTTP/1.1\r\nX-Slow: ")
        }
    }

    private let clients: [Slow]

    init(_ count: Int, port: UInt16, from source: UInt8 = 1) throws {
        clients = try (0..<count).map { _ in try Slow(port: port, from: source) }
    }

    /// Number of connections that the server has not ended.
    var openCount: Int { clients.count { !$0.client.isClosed } }
}
