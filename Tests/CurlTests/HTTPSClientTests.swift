import Curl
import Foundation
import TestSupport
import Testing

/// The client against a server that misbehaves as told.
struct HTTPSClientTests {
    private typealias Response = HTTPSResponder.Response

    @Test func `a response is returned with status, headers and body`() async throws {
        let server = try await HTTPSResponder.start([
            .of(status: 429, headers: ["Retry-After:  7 ", "X-EMPTY:"], "slow down")
        ])
        defer { server.stop() }
        let client = try HTTPSClient(Self.options(server))
        // More than libcurl sends without asking by `Expect`.
        let sent = String(repeating: "sent", count: 300_000)
        let request = HTTPSRequest(
            .post(Array(sent.utf8)), url: server.url + "/a/../b?c=d",
            headers: [HTTPSHeader("Authorization", "Bearer secret")])
        let response = try await client.send(request)
        #expect(response.status == 429)
        #expect(response.header("retry-after") == "7")
        #expect(response.header("x-empty") == "")
        #expect(response.header("x-absent") == nil)
        #expect(response.body == Array("slow down".utf8))
        let received = try #require(try server.requests.first)
        #expect(received.head.hasPrefix("POST /a/../b?c=d HTTP/1.1\r\n"))
        #expect(received.head.contains("Authorization: Bearer secret"))
        #expect(!received.head.contains("Expect"))
        #expect(received.body == sent)
    }

    @Test func `the headers of interim responses are left out`() async throws {
        let response = HTTPSResponder.Response(
            "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 204 No\r\nX-Late: 1\r\n\r\n")
        let server = try await HTTPSResponder.start([response])
        defer { server.stop() }
        let client = try HTTPSClient(Self.options(server))
        let received = try await client.send(HTTPSRequest(.get, url: server.url))
        #expect(received.status == 204)
        #expect(received.headers == [HTTPSHeader("x-late", "1")])
    }

    @Test func `an empty body is posted`() async throws {
        let server = try await HTTPSResponder.start([.of()])
        defer { server.stop() }
        let client = try HTTPSClient(Self.options(server))
        _ = try await client.send(HTTPSRequest(.post([]), url: server.url))
        #expect(try server.requests.first?.head.contains("Content-Length: 0") == true)
    }

    @Test func `requests one after the other reuse a connection`() async throws {
        let server = try await HTTPSResponder.start([.of("one"), .of("two"), .of("three")])
        defer { server.stop() }
        let client = try HTTPSClient(Self.options(server))
        for expected in ["one", "two", "three"] {
            let response = try await client.send(HTTPSRequest(.get, url: server.url))
            #expect(response.body == Array(expected.utf8))
        }
        #expect(try server.requests.map(\.connection) == [1, 1, 1])
    }

    @Test func `requests at once are answered side by side, beyond the connections in turn`() async throws {
        let server = try await HTTPSResponder.start([.of("same")])
        defer { server.stop() }
        var options = Self.options(server)
        options.connectionsMax = 2
        let client = try HTTPSClient(options)
        let bodies = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<20 { group.addTask { try await client.send(HTTPSRequest(.get, url: server.url)).body } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(bodies == Array(repeating: Array("same".utf8), count: 20))
        #expect(try server.requests.allSatisfy { $0.connection <= 2 })
    }

    @Test func `a redirect is not followed`() async throws {
        let server = try await HTTPSResponder.start([.of(status: 302, headers: ["Location: /elsewhere"])])
        defer { server.stop() }
        let client = try HTTPSClient(Self.options(server))
        let response = try await client.send(HTTPSRequest(.get, url: server.url))
        #expect(response.status == 302)
        #expect(try server.requests.count == 1)
    }

    @Test func `a certificate for another host is refused`() async throws {
        let server = try await HTTPSResponder.start([.of()], host: "DNS:localhost.example")
        defer { server.stop() }
        let error = try await Self.failure(server.url, Self.options(server))
        #expect(error.code == .certificateRefused)
        #expect(error.message.contains("localhost"))
        #expect(try server.requests.isEmpty)
    }

    @Test func `an unknown authority is refused, also by the system's list`() async throws {
        let server = try await HTTPSResponder.start([.of()])
        defer { server.stop() }
        let other = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        let authority = try await TestCertificates(in: other).authority
        defer { try? FileManager.default.removeItem(at: other) }
        for file in [authority, nil] {
            var options = HTTPSOptions()
            options.authorityFile = file
            #expect(try await Self.failure(server.url, options).code == .certificateRefused)
        }
        #expect(try server.requests.isEmpty)
    }

    @Test func `a missing file of authorities is named as the cause`() async throws {
        var options = HTTPSOptions()
        options.authorityFile = "/nowhere.pem"
        let server = try ScriptedServer(.silence)
        defer { server.stop() }
        let error = try await Self.failure("https://localhost:\(server.port)", options)
        #expect(error.code == .authorityUnreadable)
    }

    @Test(arguments: ["http", "ftp", "file", "gopher"]) func `only https is spoken`(scheme: String) async throws {
        let server = try ScriptedServer(.silence)
        defer { server.stop() }
        let error = try await Self.failure("\(scheme)://127.0.0.1:\(server.port)/", HTTPSOptions())
        #expect(error.code == .invalidRequest)
        #expect(server.connections == 0)
    }

    @Test func `a header with a line break is not sent`() async throws {
        let client = try HTTPSClient()
        let headers = [HTTPSHeader("Authorization", "one\r\nX-Injected: two")]
        let request = HTTPSRequest(.get, url: "https://localhost:1/", headers: headers)
        let error = await #expect(throws: HTTPSError.self) { try await client.send(request) }
        #expect(error?.code == .invalidRequest)
    }

    @Test func `a closed port and an unknown host are told apart`() async throws {
        let socket = try ScriptedServer(.silence)
        socket.stop()
        let closed = try await Self.failure("https://127.0.0.1:\(socket.port)", HTTPSOptions())
        #expect(closed.code == .notConnected)
        let unknown = try await Self.failure("https://host.invalid", HTTPSOptions())
        #expect(unknown.code == .hostNotFound)
    }

    @Test func `the environment's proxy is ignored, and the option's is used`() async throws {
        let proxy = try ScriptedServer(.bytes(Array("HTTP/1.1 403 No\r\n\r\n".utf8)))
        defer { proxy.stop() }
        let server = try await HTTPSResponder.start([.of("direct")])
        defer { server.stop() }
        for name in ["https_proxy", "HTTPS_PROXY", "ALL_PROXY"] { setenv(name, "http://127.0.0.1:\(proxy.port)", 1) }
        setenv("no_proxy", "localhost", 1)
        defer { for name in ["https_proxy", "HTTPS_PROXY", "ALL_PROXY", "no_proxy"] { unsetenv(name) } }
        var options = Self.options(server)
        let response = try await HTTPSClient(options).send(HTTPSRequest(.get, url: server.url))
        #expect(response.body == Array("direct".utf8))
        #expect(proxy.connections == 0)
        options.proxy = "http://user:password@127.0.0.1:\(proxy.port)"
        let client = try HTTPSClient(options)
        let request = HTTPSRequest(.get, url: server.url, headers: [HTTPSHeader("Authorization", "Bearer token")])
        let error = await #expect(throws: HTTPSError.self) { try await client.send(request) }
        #expect(error.map { !"\($0)".contains("password") } == true)
        let asked = try #require(proxy.requests.first)
        #expect(asked.hasPrefix("CONNECT localhost:\(server.port) HTTP/1.1\r\n"))
        #expect(!asked.contains("token"))
        #expect(try server.requests.count == 1)
    }

    @Test(arguments: ["foo://user:password@a:1", "http://user:password@[::z]:1", "user:password@a:1"])
    func `an unusable proxy is refused without its password`(proxy: String) async throws {
        var options = HTTPSOptions()
        options.proxy = proxy
        let error = await #expect(throws: HTTPSError.self) {
            try await HTTPSClient(options).send(HTTPSRequest(.get, url: "https://localhost:1"))
        }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("password") == false)
    }

    private static func options(_ server: HTTPSResponder) -> HTTPSOptions {
        var options = HTTPSOptions()
        options.authorityFile = server.certificates.authority
        return options
    }

    private static func failure(_ url: String, _ options: HTTPSOptions) async throws -> HTTPSError {
        let client = try HTTPSClient(options)
        let error = await #expect(throws: HTTPSError.self) { try await client.send(HTTPSRequest(.get, url: url)) }
        return try #require(error)
    }
}
