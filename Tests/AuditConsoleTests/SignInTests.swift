import Commands
import DeadLetters
import Foundation
import OpenSSL
import Settings
import TestSupport
import Testing

@testable import AuditConsole
@testable import HTTP

/// Sign-in and the end of sessions.
@Suite(.timeLimit(.minutes(10))) struct SignInTests {
    @Test func `without a way to sign in the console does not start`() throws {
        let error = #expect(throws: SettingsError.self) { try ConsoleService.read(environment: [:]) }
        #expect(error?.description.contains("nobody could sign in") == true)
    }

    @Test func `a proxy without roles, and all addresses without a public URL, are refused`() {
        #expect(throws: SettingsError.self) {
            try ConsoleService.read(environment: ["CONSOLE_PROXY_ADDRESSES": "127.0.0.1"])
        }
        #expect(throws: SettingsError.self) {
            try ConsoleService.read(environment: [
                "CONSOLE_PROXY_ADDRESSES": "127.0.0.1", "CONSOLE_PROXY_ROLES": "a=viewer", "CONSOLE_ADDRESS": "0.0.0.0",
            ])
        }
    }

    @Test(arguments: [
        "vera:viewer", "vera:king:scrypt$16384$8$1$AAAAAAAAAAA=$AAAA", "::", "a b c",
        "vera:viewer:scrypt$1024$8$1$AAAAAAAAAAAAAAAAAAAAAA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "",
        "# nobody",
    ]) func `a file of users with a wrong line is refused`(text: String) {
        #expect(throws: SettingsError.self) { try PasswordFile(Array(text.utf8), path: "users") }
    }

    @Test func `the check of the settings reads the file of users too`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "users-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        func check(_ users: String) async throws -> (code: Int32, notes: String) {
            try Data(users.utf8).write(to: URL(filePath: path))
            let transcript = ConsoleTranscript()
            let code = await DeadLetterTool.tool(adding: ConsoleCommands.all).run(
                ["serve", "--check", "--password-file", path], on: transcript)
            return (code, transcript.notes)
        }
        #expect(try await check(ConsoleFixture.passwordFile) == (0, ""))
        let (code, notes) = try await check("# nobody\n")
        #expect(code == 78)
        #expect(notes.contains("file \(path), line 1): holds no user"), "\(notes)")
    }

    @Test func `a signed-out browser sees the sign-in page and then the requested one`() async throws {
        let fixture = try await ConsoleFixture()
        let client = fixture.client()
        let first = try await client.get("/search?reason=signature_invalid")
        #expect(first.status == 303)
        #expect(first.body.isEmpty)
        let form = try await client.get(first.location ?? "")
        #expect(form.status == 200)
        #expect(form.body.contains("value=\"/search?reason=signature_invalid\""))
        let answer = try await client.post(
            "/sign-in",
            [
                ("form-token", form.formToken ?? ""), ("name", "vera"), ("password", ConsoleFixture.password),
                ("next", "/search?reason=signature_invalid"),
            ])
        #expect(answer.status == 303)
        #expect(answer.location == "/search?reason=signature_invalid")
        let cookie = try #require(answer.cookies.first)
        #expect(cookie.contains("HttpOnly"))
        #expect(cookie.contains("SameSite=Strict"))
        #expect(try await client.get("/search?reason=signature_invalid").status == 200)
    }

    @Test(arguments: ["https://evil.example/", "//evil.example", "javascript:alert(1)", "\\\\evil"])
    func `signing in redirects to no other site`(next: String) async throws {
        let fixture = try await ConsoleFixture()
        let client = fixture.client()
        let answer = try await client.submit(
            "/sign-in", [("name", "vera"), ("password", ConsoleFixture.password), ("next", next)], from: "/sign-in")
        #expect(answer.status == 303)
        let location = try #require(answer.location)
        #expect(location.hasPrefix("/"))
        #expect(!location.hasPrefix("//"))
        #expect(!location.contains("\\"))
    }

    @Test func `the session's ID is new at sign-in, and a given one is invalid`() async throws {
        let fixture = try await ConsoleFixture()
        let client = fixture.client()
        let planted = "dead-letter-session=" + String(repeating: "A", count: 43)
        client.cookie = planted
        #expect(try await client.get("/").status == 303)
        try await client.signIn("vera", ConsoleFixture.password)
        let signedIn = client.cookie
        #expect(!signedIn.contains(planted))
        #expect(try await client.get("/help").status == 200)
        let attacker = fixture.client()
        attacker.cookie = planted
        #expect(try await attacker.get("/help").status == 303)
        // Signing in again ends the former session.
        let other = fixture.client()
        other.cookie = signedIn
        try await client.submit("/sign-out", [], from: "/help")
        try await client.signIn("vera", ConsoleFixture.password)
        #expect(client.cookie != signedIn)
        #expect(try await other.get("/help").status == 303)
    }

    @Test func `after signing out the session is over`() async throws {
        let fixture = try await ConsoleFixture()
        let client = try await fixture.client(as: "vera")
        let kept = fixture.client()
        kept.cookie = client.cookie
        let answer = try await client.submit("/sign-out", [], from: "/help")
        #expect(answer.status == 303)
        #expect(try await kept.get("/help").status == 303)
    }

    @Test func `a session ends when idle, and in any case after its time`() throws {
        let name = try #require(UserName("vera"))
        let sessions = Sessions(idleMax: .seconds(60), durationMax: .seconds(100))
        let start = ContinuousClock.now
        let visitor = sessions.begin(name, .viewer, by: .proxy, now: start)
        #expect(sessions.visitor(visitor.sessionID, now: start + .seconds(59)) != nil)
        #expect(sessions.visitor(visitor.sessionID, now: start + .seconds(99)) != nil)
        #expect(sessions.visitor(visitor.sessionID, now: start + .seconds(101)) == nil)
        let other = sessions.begin(name, .viewer, by: .proxy, now: start)
        #expect(sessions.visitor(other.sessionID, now: start + .seconds(61)) == nil)
        #expect(sessions.visitor(other.sessionID, now: start) == nil)
    }

    @Test(arguments: [[:], ["x-refresh": "1"]]) func `a page that refreshes itself does not keep its session alive`(
        headers: [String: String]
    ) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "users-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        try ConsoleFixture.passwordFile.write(to: file, atomically: true, encoding: .utf8)
        let path = file.path(percentEncoded: false)
        let settings = ["CONSOLE_PASSWORD_FILE": path, "CONSOLE_SESSION_IDLE_MAX": "30m"]
        let gate = try SignInGate(ConsoleService.read(environment: settings))
        let user = try #require(try PasswordFile(path: path).users["vera"])
        let now = ContinuousClock.now
        let visitor = gate.sessions.begin(user.name, user.role, by: .password(user.hash), now: now - .seconds(1000))
        let cookie = ["cookie": "\(gate.sessionCookie)=\(visitor.sessionID)"]
        let answer = gate.answer(HTTPRequest(headers: headers.merging(cookie) { $1 }))
        guard case .visitor = answer else {
            Issue.record("the session is unknown")
            return
        }
        let later = gate.sessions.visitor(visitor.sessionID, now: now + .seconds(1000))
        #expect((later == nil) == !headers.isEmpty)
    }

    @Test func `a wrong password and an unknown name get the same answer`() async throws {
        let fixture = try await ConsoleFixture()
        let wrong = try await fixture.client().signIn("vera", "wrong password!")
        let unknown = try await fixture.client().signIn("nobody", "wrong password!")
        #expect(wrong.status == 401)
        #expect(unknown.status == 401)
        let token = /value="[^"]*"/
        #expect(wrong.body.replacing(token, with: "") == unknown.body.replacing(token, with: ""))
    }

    @Test func `guessing passwords is slowed down, also many at once`() async throws {
        let fixture = try await ConsoleFixture()
        let start = ContinuousClock.now
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<20 {
                group.addTask { try await fixture.client().signIn("vera", "guess number \(number)").status }
            }
            var statuses: [Int] = []
            for try await status in group { statuses.append(status) }
            return statuses
        }
        // After five failures the waits are 1, 2, 4, … s, which a slow machine may sit out.
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let guessesMax = 6 + Int(log2(seconds + 1))
        #expect(statuses.count { $0 == 401 } <= guessesMax)
        #expect(statuses.count { [429, 503].contains($0) } >= 20 - guessesMax)
        // The right password has to wait too, here within a wait that outlasts a request.
        try await eventually {
            let guess = try await fixture.client().signIn("vera", "another guess")
            return (guess.headers["retry-after"].flatMap { Int($0) } ?? 0) >= 4
        }
        let blocked = try await fixture.client().signIn("vera", ConsoleFixture.password)
        #expect(blocked.status == 429)
        #expect(blocked.headers["retry-after"] != nil)
    }

    @Test func `the wait grows with each failure, and is bounded for a name`() {
        let throttle = SignInThrottle()
        var now = ContinuousClock.now
        var waits: [Duration] = []
        for _ in 0..<30 {
            while let wait = throttle.begin(PeerNetwork(nil), "vera", now: now) {
                waits.append(wait)
                now += wait
            }
        }
        #expect(waits.count == 25)
        #expect(zip(waits, waits.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(waits.last == .seconds(900))
        let others = SignInThrottle()
        for number in 0..<40 {
            let network = PeerNetwork(IPAddress("10.0.0.\(number)"))
            if let wait = others.begin(network, "vera", now: now) {
                #expect(wait <= .seconds(60))
                now += wait
            }
        }
    }

    @Test func `all addresses of an IPv6 network share their failures`() {
        let throttle = SignInThrottle()
        let now = ContinuousClock.now
        func wait(_ address: String, _ name: String) -> Duration? {
            throttle.begin(PeerNetwork(IPAddress(address)), name, now: now)
        }
        for number in 1...5 { #expect(wait("2001:db8:1:2::\(number)", "user \(number)") == nil) }
        #expect(wait("2001:db8:1:2:ffff::9", "user 6") != nil)
        #expect(wait("2001:db8:1:3::9", "user 6") == nil)
        for number in 1...5 { #expect(wait("10.1.2.3", "name \(number)") == nil) }
        #expect(wait("::ffff:10.1.2.3", "name 6") != nil)
    }

    @Test func `a success forgets the failures of its name, and of no other name in its network`() {
        let throttle = SignInThrottle()
        let network = PeerNetwork(IPAddress("10.0.0.1"))
        let now = ContinuousClock.now
        for number in 1...4 { #expect(throttle.begin(network, "guessed \(number)", now: now) == nil) }
        // A user of their own buys no further guesses.
        #expect(throttle.begin(network, "mallory", now: now) == nil)
        throttle.succeeded(network, "mallory")
        #expect(throttle.begin(network, "guessed 5", now: now) == nil)
        #expect(throttle.begin(network, "guessed 6", now: now) != nil)
        // Good passwords alone never cause a wait.
        let office = PeerNetwork(IPAddress("10.0.0.2"))
        for number in 1...40 {
            #expect(throttle.begin(office, "user \(number)", now: now) == nil)
            throttle.succeeded(office, "user \(number)")
        }
    }

    @Test func `behind a forwarding proxy, guesses slow down their own client alone`() async throws {
        let settings = ["CONSOLE_FORWARDING_ADDRESSES": "127.0.0.2"]
        let fixture = try await ConsoleFixture(environment: settings)
        func signIn(_ name: String, _ password: String, from address: String) async throws -> Int {
            let header = "X-Forwarded-For: 192.0.2.9, \(address)"
            return try await ConsoleClient(port: fixture.port, source: 2, headers: [header]).signIn(name, password)
                .status
        }
        for number in 1...5 { #expect(try await signIn("guess \(number)", "x", from: "198.51.100.1") == 401) }
        #expect(try await signIn("guess 6", "x", from: "198.51.100.1") == 429)
        #expect(try await signIn("vera", ConsoleFixture.password, from: "198.51.100.2") == 303)
        // From any other address the field is untrusted.
        for number in 1...6 {
            let header = "X-Forwarded-For: 198.51.100.\(number + 10)"
            let client = ConsoleClient(port: fixture.port, source: 3, headers: [header])
            let status = try await client.signIn("other \(number)", "x").status
            #expect(status == (number <= 5 ? 401 : 429))
        }
    }

    @Test(arguments: [
        ([:], true), (["CONSOLE_FORWARDING_ADDRESSES": "10.0.0.1"], false),
        (["CONSOLE_PUBLIC_URL": "http://audit.example.com"], false),
    ]) func `a missing proxy setting is reported at the start`(settings: [String: String], isNoted: Bool) async throws {
        let fixture = try await ConsoleFixture()
        let file = fixture.folder.appending(path: "users").path(percentEncoded: false)
        let common = ["CONSOLE_PUBLIC_URL": "https://audit.example.com", "CONSOLE_PASSWORD_FILE": file]
        let values = try ConsoleService.read(environment: common.merging(settings) { $1 })
        #expect((ConsoleSettings.note(values) != nil) == isNoted)
    }

    @Test func `a flood of sign-ins keeps no signed-in user from a page`() async throws {
        let fixture = try await ConsoleFixture()
        let client = try await fixture.client(as: "vera")
        var attackers: [(client: ConsoleClient, fields: [(String, String)])] = []
        for number in 10..<110 {
            let attacker = fixture.client(from: UInt8(number))
            let token = try await attacker.get("/sign-in").formToken ?? ""
            let fields = [("form-token", token), ("name", "user \(number)"), ("password", "guess")]
            attackers.append((attacker, fields))
        }
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for (attacker, fields) in attackers {
                group.addTask { try await attacker.post("/sign-in", fields).status }
                #expect(try await client.get("/help").status == 200)
            }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        // Some were compared; those that found the queue full were answered at once.
        #expect(statuses.contains(401) && statuses.contains(503))
        #expect(statuses.allSatisfy { [401, 503].contains($0) })
        #expect(PasswordCheck.attemptsMax * 6 <= HTTPLimits.standard.answersMax)
    }
}
