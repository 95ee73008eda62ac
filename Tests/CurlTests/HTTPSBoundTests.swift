import Curl
import Foundation
import TestSupport
import Testing

/// Bounds of size and time, and cancellation.
@Suite(.timeLimit(.minutes(10))) struct HTTPSBoundTests {
    private static let head = "HTTP/1.1 200 OK\r\n"

    /// Responses that are no whole HTTP response within the bounds of `options(_:)`.
    private static let broken: [(HTTPSResponder.Response, HTTPSError.Code)] = [
        (.of(String(repeating: "a", count: 1_001)), .responseTooLarge),
        (.init(head + "\r\n" + String(repeating: "a", count: 5_000), then: .close), .responseTooLarge),
        (.of(headers: Array(repeating: "X-A: " + String(repeating: "a", count: 90), count: 11)), .responseTooLarge),
        (.init(head + "Content-Length: 10\r\n\r\nshort", then: .close), .connectionLost),
        (.init(head + "Content-Length: 10\r\n\r\nshort", then: .cut), .connectionLost),
        (.init(head + "Transfer-Encoding: chunked\r\n\r\n5\r\nsho", then: .close), .connectionLost),
        (.init("HTTP/1.1 200", then: .close), .connectionLost), (.init("", then: .cut), .connectionLost),
        (.init("", then: .close), .connectionLost), (.init("SSH-2.0-OpenSSH\r\n", then: .close), .malformedResponse),
        (.init(head + "Content-Length: secret\r\n\r\nbody", then: .close), .malformedResponse),
        (.init(head + "Content-Length: 999999\r\n\r\n", then: .drip), .timedOut),
        (.init(head, then: .silence), .timedOut), (.init("", then: .silence), .timedOut),
    ]

    @Test(arguments: broken.indices) func `a broken response is an error of its kind`(index: Int) async throws {
        let (response, code) = Self.broken[index]
        let server = try await HTTPSResponder.start([response])
        defer { server.stop() }
        let client = try HTTPSClient(Self.options(server))
        let error = await #expect(throws: HTTPSError.self) {
            try await client.send(HTTPSRequest(.get, url: server.url))
        }
        #expect(error?.code == code, "\(String(describing: error))")
        #expect(error?.message.contains("secret") == false)
    }

    @Test func `a body of exactly the bound is returned`() async throws {
        let server = try await HTTPSResponder.start([.of(String(repeating: "a", count: 1_000))])
        defer { server.stop() }
        let client = try HTTPSClient(Self.options(server))
        let response = try await client.send(HTTPSRequest(.get, url: server.url))
        #expect(response.body.count == 1_000)
    }

    @Test func `a server that never answers the connection's TLS times out`() async throws {
        let server = try ScriptedServer(.silence)
        defer { server.stop() }
        var options = HTTPSOptions()
        options.connectTimeout = .milliseconds(300)
        options.totalTimeout = .seconds(600)
        let client = try HTTPSClient(options)
        let error = await #expect(throws: HTTPSError.self) {
            try await client.send(HTTPSRequest(.get, url: "https://localhost:\(server.port)"))
        }
        #expect(error?.code == .timedOut)
    }

    @Test func `a drip below the least speed ends before the total time`() async throws {
        let response = HTTPSResponder.Response(Self.head + "Content-Length: 999\r\n\r\n", then: .drip)
        let server = try await HTTPSResponder.start([response])
        defer { server.stop() }
        var options = Self.options(server)
        options.totalTimeout = .seconds(600)
        options.slowTimeout = .seconds(1)
        options.bytesPerSecondMin = 500
        let client = try HTTPSClient(options)
        let error = await #expect(throws: HTTPSError.self) {
            try await client.send(HTTPSRequest(.get, url: server.url))
        }
        #expect(error?.code == .timedOut)
    }

    @Test func `a cancelled task ends its request at once, and the client goes on`() async throws {
        let server = try await HTTPSResponder.start([.of("first"), .init("", then: .silence), .of("next")])
        defer { server.stop() }
        var options = Self.options(server)
        options.connectTimeout = .seconds(600)
        options.totalTimeout = .seconds(600)
        // The library wakes up to look at the speed, and while it connects.
        options.bytesPerSecondMin = 0
        let client = try HTTPSClient(options)
        let request = HTTPSRequest(.get, url: server.url)
        #expect(try await client.send(request).body == Array("first".utf8))
        let task = Task { try await client.send(request) }
        try await eventually { try server.requests.count == 2 }
        task.cancel()
        let error = await #expect(throws: HTTPSError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(try await client.send(request).body == Array("next".utf8))
    }

    @Test func `a task that is cancelled before it asks sends nothing`() async throws {
        let server = try await HTTPSResponder.start([.of()])
        defer { server.stop() }
        let client = try HTTPSClient(Self.options(server))
        let task = Task {
            await eventually { Task.isCancelled }
            return try await client.send(HTTPSRequest(.get, url: server.url))
        }
        task.cancel()
        let error = await #expect(throws: HTTPSError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(try server.requests.isEmpty)
    }

    @Test func `requests that are cancelled at any moment disturb no others`() async throws {
        let server = try await HTTPSResponder.start([.of("same")])
        defer { server.stop() }
        var options = Self.options(server)
        options.totalTimeout = .seconds(60)
        let client = try HTTPSClient(options)
        let tasks = (0..<400).map { _ in Task { try await client.send(HTTPSRequest(.get, url: server.url)).body } }
        for (index, task) in tasks.enumerated() where index.isMultiple(of: 2) {
            for _ in 0..<index { await Task.yield() }
            task.cancel()
        }
        for (index, task) in tasks.enumerated() {
            do { #expect(try await task.value == Array("same".utf8)) } catch let error as HTTPSError {
                #expect(error.code == .cancelled && index.isMultiple(of: 2), "\(error)")
            }
        }
    }

    @Test func `a client's thread ends with it`() async throws {
        func threads() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").filter { id in
                let name = try? String(contentsOfFile: "/proc/self/task/\(id)/comm", encoding: .utf8)
                return name == "curl\n"
            }.count
        }
        let clients = try (0..<200).map { _ in try HTTPSClient() }
        await eventually { (try? threads()) ?? 0 >= clients.count }
        _ = consume clients
        await eventually { (try? threads()) ?? .max < 200 }
    }

    private static func options(_ server: HTTPSResponder) -> HTTPSOptions {
        var options = HTTPSOptions()
        options.authorityFile = server.certificates.authority
        options.bodyBytesMax = 1_000
        options.headerBytesMax = 1_000
        options.totalTimeout = .seconds(2)
        return options
    }
}
