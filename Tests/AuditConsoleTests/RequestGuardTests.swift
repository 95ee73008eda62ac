import AppStore
import Foundation
import Postgres
import Commands
import Settings
import Simulation
import Store
import Telemetry
import TestSupport
import Testing

@testable import AuditConsole
@testable import DeadLetters
@testable import HTTP

/// Requests that are refused before they reach a page.
@Suite(.timeLimit(.minutes(10))) struct RequestGuardTests {
    /// Each post of the console, with a valid form.
    private static func posts(_ id: String) -> [(path: String, role: ConsoleRole, [(String, String)])] {
        [
            ("/letters/\(id)/reveal", .investigator, [("why", "a test")]),
            ("/letters/\(id)/state", .operator, [("kind", "resolved"), ("note", "a test")]),
            ("/decisions", .operator, [("kind", "resolved"), ("note", "a test"), ("filter", "state=open")]),
            ("/replays", .operator, []), ("/replays/1/continue", .operator, []), ("/replays/1/stop", .operator, []),
            ("/replays/1/abandon", .operator, []),
        ]
    }

    @Test func `each post requires its role, on the server`() async throws {
        let fixture = try await ConsoleFixture()
        let routes = ConsoleSources.routesOfTest(fixture).filter { $0.method == .post }
        let posts = Self.posts(fixture.ids[0])
        #expect(routes.count == posts.count, "a post is not tested here")
        for (user, roleName) in ConsoleFixture.users {
            let role = try #require(ConsoleRole(rawValue: roleName))
            let client = try await fixture.client(as: user)
            for (path, needed, fields) in posts {
                let answer = try await client.submit(path, fields, from: "/help")
                let isAllowed = role >= needed
                #expect((answer.status == 403) == !isAllowed, "\(user) \(path) \(answer.status)")
                #expect(answer.body.contains("This requires the role") == !isAllowed)
            }
        }
    }

    @Test func `a refused post writes nothing`() async throws {
        let fixture = try await ConsoleFixture()
        let client = try await fixture.client(as: "vera")
        for (path, _, fields) in Self.posts(fixture.ids[0]) { _ = try await client.submit(path, fields, from: "/help") }
        let actions = try await DeadLetterActionTable.newest(limit: 10, on: fixture.database)
        #expect(actions.map(\.kind) == [.signedIn])
    }

    @Test func `a form without the session's token is refused`() async throws {
        let fixture = try await ConsoleFixture()
        let client = try await fixture.client(as: "otto")
        let other = try await fixture.client(as: "ines")
        let foreign = try #require(try await other.get("/help").formToken)
        let own = try #require(try await client.get("/help").formToken)
        let (path, _, fields) = Self.posts(fixture.ids[0])[1]
        let wrong: [[(String, String)]] = [
            [], [("form-token", "")], [("form-token", foreign)], [("form-token", own + "A")],
            [("form-token", String(own.dropLast()))], [("form-token", own), ("form-token", own)],
        ]
        for token in wrong { #expect(try await client.post(path, token + fields).status == 403) }
        let right = [("form-token", own)] + fields
        for header in [
            "Origin: https://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site",
        ] { #expect(try await client.post(path, right, headers: [header]).status == 403, "\(header)") }
        let written = try await DeadLetterActionTable.newest(limit: 9, on: fixture.database)
        #expect(!written.contains { $0.deadLetterID != nil })
        let origin = "Origin: http://127.0.0.1:\(fixture.port)"
        #expect(try await client.post(path, right, headers: [origin]).status == 303)
    }

    @Test func `the sign-in form requires a token of the same browser`() async throws {
        let fixture = try await ConsoleFixture()
        let victim = fixture.client()
        let attacker = fixture.client()
        let token = try #require(try await attacker.get("/sign-in").formToken)
        let fields = [("form-token", token), ("name", "vera"), ("password", ConsoleFixture.password)]
        #expect(try await victim.post("/sign-in", fields).status == 403)
        _ = try await victim.get("/sign-in")
        #expect(try await victim.post("/sign-in", fields).status == 403)
    }

    @Test(arguments: ["evil.example", "evil.example:80", "127.0.0.1", ""]) func `a request for another host is refused`(
        host: String
    ) async throws {
        let fixture = try await ConsoleFixture()
        let client = fixture.client()
        #expect(try await client.send("GET", "/sign-in", host: host).status == 421)
        let localhost = try await client.send("GET", "/sign-in", host: "localhost:\(fixture.port)")
        #expect(localhost.status == 200)
    }

    @Test(arguments: [
        ("localhost", 80, true), ("localhost:80", 80, true), ("[::1]", 80, true), ("localhost", 443, false),
        ("a.example", 9440, true), ("a.example:8443", 9440, false),
    ]) func `a host is named without its scheme's default port`(host: String, port: UInt16, isAllowed: Bool) {
        let url = PublicURL("https://a.example:443")
        let origin = RequestOrigin(publicURL: url, address: "127.0.0.1")
        origin.listens(on: port)
        #expect(origin.isHostAllowed(HTTPRequest(headers: ["host": host])) == isAllowed)
    }

    @Test(arguments: [
        ("https://a.example:443", "https://a.example"), ("http://[::1]:80/", "http://[::1]"),
        ("https://a.example:80", "https://a.example:80"), ("http://a:8080", "http://a:8080"), ("https://:443", nil),
    ]) func `a public address has no default port`(text: String, kept: String?) {
        #expect(PublicURL(text)?.text == kept)
    }

    @Test(arguments: [
        "/assets/../Package.swift", "/assets/..%2f..%2fetc%2fpasswd", "/assets/%2e%2e/x", "/assets/",
        "/assets//etc/passwd", "/assets/console.css", "/assets/%00", "/assets/..%5c..%5cx",
    ]) func `assets are those of the program and no files`(path: String) async throws {
        let fixture = try await ConsoleFixture()
        #expect(try await fixture.client().get(path).status == 404)
    }

    @Test(arguments: [(Assets.stylesheet, "console.css"), (Assets.script, "console.js"), (Assets.icon, "icon.svg")])
    func `an asset has the bytes of its source file`(asset: Asset, file: String) throws {
        let source = URL(
            filePath: "../../Sources/Tools/AuditConsole/Assets/\(file)", relativeTo: URL(filePath: #filePath))
        #expect(asset.body == Array(try Data(contentsOf: source)))
    }

    @Test func `assets may be kept forever, and pages not at all`() async throws {
        let fixture = try await ConsoleFixture()
        let client = try await fixture.client(as: "vera")
        let style = try await client.get(Assets.stylesheet.link.text)
        #expect(style.status == 200)
        #expect(style.headers["cache-control"]?.contains("immutable") == true)
        #expect(style.headers["content-type"] == "text/css; charset=utf-8")
        for path in ["/", "/groups", "/search", "/history", "/help", "/none", "/sign-in"] {
            let page = try await client.get(path)
            #expect(page.headers["cache-control"] == "no-store")
            #expect(page.headers["x-content-type-options"] == "nosniff")
            #expect(page.headers["referrer-policy"] == "same-origin")
            let policy = page.headers["content-security-policy"] ?? ""
            #expect(policy.contains("default-src 'none'"))
            #expect(policy.contains("frame-ancestors 'none'"))
            #expect(!policy.contains("unsafe"))
            #expect(!page.body.contains(" style=\""))
            #expect(!page.body.contains(" onclick"))
        }
    }

    @Test func `behind TLS cookies are Secure and bound to the host`() async throws {
        let fixture = try await ConsoleFixture(environment: ["CONSOLE_PUBLIC_URL": "https://audit.example.com"])
        let client = fixture.client()
        let page = try await client.send("GET", "/sign-in", host: "audit.example.com")
        #expect(page.status == 200)
        let cookie = try #require(page.cookies.first)
        #expect(cookie.hasPrefix("__Host-"))
        #expect(cookie.contains("; Secure"))
        #expect(page.headers["strict-transport-security"] != nil)
    }

    @Test func `clients that send slowly keep nobody out`() async throws {
        let fixture = try await ConsoleFixture()
        let slow = try (0..<200).map { _ in try SlowClient(port: fixture.port) }
        let client = try await fixture.client(as: "vera")
        for _ in 0..<10 { #expect(try await client.get("/search").status == 200) }
        #expect(slow.count { !$0.client.isClosed } <= 128)
    }

    @Test func `a form that is too large is refused`() async throws {
        let fixture = try await ConsoleFixture()
        let client = try await fixture.client(as: "otto")
        let long = String(repeating: "x", count: 100_000)
        let answer = try await client.submit("/decisions", [("note", long)], from: "/help")
        #expect(answer.status == 413)
    }

    @Test func `a missing database is reported, and the page is not shown`() async throws {
        let fixture = try await ConsoleFixture()
        let client = try await fixture.client(as: "ines")
        let token = try #require(try await client.get("/help").formToken)
        await fixture.database.close()
        #expect(try await client.get("/").status == 503)
        let path = "/letters/\(fixture.ids[0])/reveal"
        let answer = try await client.post(path, [("form-token", token), ("why", "a test")])
        #expect(answer.status == 503)
        #expect(!answer.body.contains("eyJ"))
    }
}

private final class SlowClient {
    let client: RawClient

    init(port: UInt16) throws {
        client = try RawClient(port: port)
        client.send("GET /search HTTP/1.1\r\nX-Slow: ")
    }
}

extension HTTPRequest {
    /// A request for the first page.
    init(headers: [String: String]) {
        self.init(method: .get, path: "/", queryItems: [], headers: headers, repeatedHeaders: [], body: [], peer: nil)
    }
}

extension ConsoleSources {
    static func routesOfTest(_ fixture: ConsoleFixture) -> [ConsoleRoute] {
        ConsoleSources(
            database: fixture.database, topic: fixture.topic,
            runs: ReplayRuns(fixture.replays, log: Log(JSONLogHandler(level: .critical))),
            chains: ChainWatch { ChainReport() }, now: { .earliest }
        ).routes
    }
}
