import Foundation
import Simulation
import Synchronization
import TestSupport
import Testing

@testable import HTTP

/// A server whose answers come from tasks.
@Suite(.timeLimit(.minutes(10))) struct HTTPAnswerTests {
    private func exchange(_ server: HTTPServer, _ path: String, _ headers: String = "") throws -> String {
        try RawClient.exchange("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n", port: server.port)
    }

    private func server(_ limits: HTTPLimits = .standard, _ answer: @escaping HTTPServer.Answer) throws -> HTTPServer {
        try HTTPServer(address: "127.0.0.1", port: 0, limits: limits, answer: answer)
    }

    @Test func `an answer that takes its time keeps no other waiting`() async throws {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let server = try server { request in
            if request.path == "/slow" { for await _ in stream { break } }
            return .text("\(request.path)\n")
        }
        let slow = try RawClient(port: server.port)
        slow.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(try exchange(server, "/fast").hasSuffix("/fast\n"))
        let isAnswered = slow.isClosed
        #expect(!isAnswered)
        continuation.yield()
        #expect(slow.readAll().hasSuffix("/slow\n"))
    }

    @Test func `a request knows its peer, its body and what came twice`() throws {
        let server = try server { request in
            let query = request.queryItems.map { "\($0.name)=\($0.value)" }.joined(separator: ",")
            let body = String(decoding: request.body, as: UTF8.self)
            let peer = request.peer?.description ?? "?"
            let twice = request.repeatedHeaders.sorted().joined(separator: ",")
            return .text("\(peer) \(query) \(body) \(twice)")
        }
        let answer = try RawClient.exchange(
            "POST /x?a=1&b=%20&a=2 HTTP/1.1\r\nHost: localhost\r\nX-A: 1\r\nx-a: 2\r\n"
                + "Content-Length: 4\r\n\r\nbody", port: server.port, from: 3)
        #expect(answer.hasSuffix("\r\n\r\n127.0.0.3 a=1,b= ,a=2 body x-a"))
    }

    @Test func `more tasks than the limit are answered with 503`() async throws {
        var limits = HTTPLimits.standard
        limits.answersMax = 2
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let waiting = Mutex(0)
        let server = try server(limits) { _ in
            waiting.withLock { $0 += 1 }
            for await _ in stream { break }
            return .text("done\n")
        }
        let first = try RawClient(port: server.port)
        let second = try RawClient(port: server.port)
        first.send("GET /1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        second.send("GET /2 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await eventually { waiting.withLock { $0 } == 2 }
        #expect(try exchange(server, "/3").hasPrefix("HTTP/1.1 503 "))
        continuation.finish()
        #expect(first.readAll().hasSuffix("done\n"))
        #expect(second.readAll().hasSuffix("done\n"))
    }

    @Test func `stop cancels the answers and ends the connections`() async throws {
        let began = Mutex(false)
        let server = try server { _ in
            began.withLock { $0 = true }
            let (stream, _) = AsyncStream<Never>.makeStream()
            for await _ in stream {}
            return .text("cancelled\n")
        }
        let client = try RawClient(port: server.port)
        client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await eventually { began.withLock { $0 } }
        server.stop()
        _ = client.readAll()
        #expect(throws: RawClient.Failure.self) { try exchange(server, "/") }
    }

    @Test func `a client that goes away leaves the server at work`() async throws {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let began = Mutex(false)
        let server = try server { request in
            if request.path == "/gone" {
                began.withLock { $0 = true }
                for await _ in stream { break }
            }
            return .text("here\n")
        }
        do {
            let client = try RawClient(port: server.port)
            client.send("GET /gone HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await eventually { began.withLock { $0 } }
        }
        continuation.yield()
        #expect(try exchange(server, "/").hasSuffix("here\n"))
    }

    @Test(arguments: [
        ("a=1&b=2", ["a=1", "b=2"]), ("a=%41+b", ["a=A b"]), ("a&=&b=", ["a=", "=", "b="]), ("a=%zz%4", ["a=%zz%4"]),
        ("a=%FF", ["a=\u{FFFD}"]), ("a=1=2", ["a=1=2"]), ("&&", []), ("a=%+1", ["a=% 1"]), ("a=%2B", ["a=+"]),
    ]) func `a form's fields`(body: String, fields: [String]) {
        let items = HTTPForm.items(Array(body.utf8))
        #expect(items.map { "\($0.name)=\($0.value)" } == fields)
        #expect(HTTPForm.items(Array(HTTPForm.encoded(items).utf8)) == items)
    }

    @Test func `cookies`() {
        let cookies = HTTPForm.cookies("a=1; b=2=3;c; a=9 ;d=")
        #expect(cookies == ["a": "1", "b": "2=3", "d": ""])
    }

    @Test func `addresses and networks`() throws {
        let mapped = try #require(IPAddress("::ffff:10.1.2.3"))
        #expect(mapped == IPAddress("10.1.2.3"))
        #expect(mapped.description == "10.1.2.3")
        #expect(IPAddress("2001:db8::1")?.description == "2001:db8::1")
        #expect(IPAddress("10.1.2") == nil)
        #expect(IPAddress("10.1.2.3/8") == nil)
        #expect(IPAddress("::1")?.isLoopback == true)
        #expect(IPAddress("127.9.9.9")?.isLoopback == true)
        #expect(IPAddress("128.0.0.1")?.isLoopback == false)
        let network = try #require(IPNetwork("10.1.0.0/20"))
        #expect(network.contains(try #require(IPAddress("10.1.15.255"))))
        #expect(!network.contains(try #require(IPAddress("10.1.16.0"))))
        #expect(!network.contains(try #require(IPAddress("::1"))))
        #expect(IPNetwork("10.0.0.0/33") == nil)
        #expect(IPNetwork("10.0.0.0/") == nil)
        #expect(IPNetwork("10.0.0.0/-1") == nil)
        let whole = try #require(IPNetwork("192.0.2.7"))
        #expect(whole.contains(try #require(IPAddress("192.0.2.7"))))
        #expect(!whole.contains(try #require(IPAddress("192.0.2.6"))))
    }
}
