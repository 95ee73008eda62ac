import JSON
import Simulation
import TestSupport
import Testing

/// The faults that a test switches on.
@Suite(.hopeless) struct AppleFaultTests {
    private let client: AppleClient

    init() throws {
        client = try AppleClient()
        let now = AppleClient.now
        client.world.generateNotifications(count: 45, dates: now - 86_400_000...now)
    }

    @Test func `Retry-After is a time in milliseconds, and a request before it is recorded`() async throws {
        client.server.inject { $0.number == 1 ? .rateLimit(.seconds(30)) : nil }
        let until = AppleClient.now + 30_000
        for step in [Duration.zero, .milliseconds(29_999)] {
            client.clock.advance(by: step)
            let answer = try await client.history()
            #expect(answer.status == 429 && AppleClient.code(answer) == 4_290_000)
            #expect(answer.headers["retry-after"] == "\(until)")
        }
        client.clock.advance(by: .milliseconds(1))
        #expect(try await client.history().status == 200)
        #expect(client.server.requests.map(\.isTooEarly) == [false, true, false])
        #expect(client.server.requests.map(\.status) == [429, 429, 200])
    }

    @Test func `a limit concerns one app and one endpoint`() async throws {
        client.server.inject { request in request.endpoint == .refundHistory ? .rateLimit(.seconds(30)) : nil }
        #expect(try await client.send("/inApps/v2/refund/lookup/1").status == 429)
        #expect(try await client.history().status == 200)
        client.server.inject { _ in nil }
        let other = try client.token(claims: ["bid": "\"com.example.coins\""])
        #expect(try await client.send("/inApps/v2/refund/lookup/1", token: other).status == 404)
        #expect(try await client.send("/inApps/v2/refund/lookup/1").status == 429)
    }

    @Test func `a burst of errors has the codes asked for`() async throws {
        client.server.inject { request in
            switch request.number {
            case 1: .error(status: 500, code: 5_000_001)
            case 2: .error(status: 503, code: nil)
            case 3: .error(status: 404, code: 4_040_004)
            case 4: .unauthorized
            default: nil
            }
        }
        var seen: [String] = []
        for _ in 0..<5 {
            let answer = try await client.history()
            seen.append("\(answer.status) \(AppleClient.code(answer) ?? 0)")
        }
        #expect(seen == ["500 5000001", "503 0", "404 4040004", "401 0", "200 0"])
    }

    @Test func `a body is cut, announced too short, or drips`() async throws {
        let whole = try await client.history().body.count
        client.server.inject { request in
            switch request.number {
            case 2: .cutBody
            case 3: .wrongContentLength
            default: nil
            }
        }
        let cut = try await client.history()
        #expect([18, 56].contains(cut.exitCode) && cut.headers["content-length"] == "\(whole)")
        #expect(cut.body.count == whole / 2)
        let short = try await client.history()
        #expect(short.exitCode == 0 && short.body.count == whole / 2)
        #expect(throws: JSONError.self) { try JSONDocument(parsing: short.body) }
    }

    @Test func `an empty page in the middle loses nothing, and a token may expire at once`() async throws {
        client.server.inject { $0.number == 2 ? .emptyPage : nil }
        let pages = try await client.pages()
        #expect(try pages.map { try $0.uuids.count } == [20, 0, 20, 5])
        #expect(try Set(pages.flatMap { try $0.uuids }).count == 45)
        client.server.inject { $0.isFurtherPage ? .expiredToken : nil }
        let token = pages[0]["paginationToken"]?.string
        #expect(try await client.history().status == 200)
        #expect(try await AppleClient.code(client.history(page: token)) == 4_000_017)
    }
}
