import Foundation
import TestSupport
import Testing

@testable import AuditConsole

/// Header fields that name the user count from the proxy's address alone.
@Suite(.timeLimit(.minutes(10))) struct ProxySignInTests {
    /// The proxy is 127.0.0.2; the tests come from there, or from 127.0.0.1.
    private static let settings = [
        "CONSOLE_PROXY_ADDRESSES": "127.0.0.2",
        "CONSOLE_PROXY_ROLES": "auditors=viewer,fraud=investigator,oncall=operator",
    ]

    private func fixture(hasPasswords: Bool = false) async throws -> ConsoleFixture {
        try await ConsoleFixture(environment: Self.settings, hasPasswords: hasPasswords)
    }

    private func headers(_ user: String, _ groups: String) -> [String] {
        ["X-Forwarded-User: \(user)", "X-Forwarded-Groups: \(groups)"]
    }

    @Test func `the proxy's user is signed in with the highest role of the groups`() async throws {
        let fixture = try await fixture()
        let client = fixture.client(from: 2)
        let page = try await client.get("/help", headers: headers("ines@example.com", "auditors, fraud"))
        #expect(page.status == 200)
        #expect(page.body.contains("ines@example.com"))
        #expect(page.body.contains(">investigator<"))
        #expect(!page.body.contains("Sign out"))
    }

    @Test(arguments: [false, true]) func `from any other address the fields name nobody`(hasPasswords: Bool)
        async throws
    {
        let fixture = try await fixture(hasPasswords: hasPasswords)
        let client = fixture.client(from: 1)
        let page = try await client.get("/help", headers: headers("otto", "oncall"))
        #expect(page.status == (hasPasswords ? 303 : 403))
        #expect(!page.body.contains("otto"))
    }

    @Test func `a session of the proxy is invalid without the proxy`() async throws {
        let fixture = try await fixture(hasPasswords: true)
        let client = fixture.client(from: 2)
        #expect(try await client.get("/help", headers: headers("otto", "oncall")).status == 200)
        let thief = fixture.client(from: 1)
        thief.cookie = client.cookie
        #expect(try await thief.get("/help").status == 303)
        // Nor for another user, or with another role.
        let page = try await client.get("/help", headers: headers("vera", "auditors"))
        #expect(page.body.contains(">viewer<"))
        #expect(!page.body.contains("otto"))
    }

    @Test func `a user without a group that has a role sees nothing`() async throws {
        let fixture = try await fixture()
        let page = try await fixture.client(from: 2).get("/help", headers: headers("eve", "sales"))
        #expect(page.status == 403)
        #expect(!page.body.contains("href=\"/history\""))
    }

    @Test func `a group or a user of other bytes that look the same is another one`() async throws {
        let roles = ["CONSOLE_PROXY_ROLES": "\u{e9}quipe=viewer"]
        let fixture = try await ConsoleFixture(environment: Self.settings.merging(roles) { $1 }, hasPasswords: false)
        for (group, status) in [("\u{e9}quipe", 200), ("e\u{301}quipe", 403)] {
            let client = fixture.client(from: 2)
            #expect(try await client.get("/help", headers: headers("vera", group)).status == status)
        }
        #expect(UserName("Ren\u{e9}") != UserName("Rene\u{301}"))
    }

    @Test func `two users in one request, or none, are refused`() async throws {
        let fixture = try await fixture()
        let client = fixture.client(from: 2)
        let both = headers("vera", "auditors") + ["x-forwarded-user: otto"]
        #expect(try await client.get("/help", headers: both).status == 403)
        #expect(try await client.get("/help", headers: headers("", "oncall")).status == 403)
        #expect(try await client.get("/help").status == 403)
        let groups = headers("vera", "auditors") + ["X-Forwarded-Groups: oncall"]
        #expect(try await client.get("/help", headers: groups).status == 403)
    }

    @Test func `a name with markup is text`() async throws {
        let fixture = try await fixture()
        let page = try await fixture.client(from: 2).get(
            "/help", headers: headers("<script>alert(1)</script>", "auditors"))
        #expect(page.status == 200)
        #expect(!page.body.contains("<script>alert"))
    }
}
