import AppStore
import JSON
import OpenSSL
import Simulation
import TestSupport
import Testing

/// A client of the simulated server: `curl`, with tokens signed here.
final class AppleClient: Sendable {
    /// 2026-06-01.
    static let now: Int64 = 1_780_272_000_000

    let world: AppleWorld
    let server: AppleServer
    let clock: SimulatedClock
    let key: PrivateKey

    /// - Parameter authority: signs everything; a new one by default.
    init(environment: String = "Production", authority: CertificateAuthority? = nil) throws {
        world = try AppleWorld(authority: authority ?? CertificateAuthority())
        clock = SimulatedClock(start: Self.now, speed: 0)
        key = try PrivateKey.generate(.p256)
        server = try AppleServer(world, environment: environment, clock: clock)
        server.register(
            try AppleAPIKey(
                id: "KEY1", issuerID: "issuer", bundleIDs: ["com.example.pro", "com.example.coins"], key: key))
    }

    deinit { server.stop() }

    /// A JWT, of which single claims and header members may differ, as raw JSON.
    func token(header: [String: String] = [:], claims: [String: String] = [:], key: PrivateKey? = nil) throws -> String
    {
        let seconds = clock.now / 1_000
        let header = ["alg": "\"ES256\"", "kid": "\"KEY1\"", "typ": "\"JWT\""].merging(header) { $1 }
        let claims = [
            "iss": "\"issuer\"", "iat": "\(seconds)", "exp": "\(seconds + 300)", "aud": "\"appstoreconnect-v1\"",
            "bid": "\"com.example.pro\"",
        ].merging(claims) { $1 }
        let signed = [header, claims].map { members in
            let fields = members.map { "\"\($0)\":\($1)" }.joined(separator: ",")
            return Base64Text.url(Array("{\(fields)}".utf8))
        }.joined(separator: [UInt8(ascii: ".")])
        let signature = try (key ?? self.key).sign(Array(signed))
        let jwt = Array(signed) + [UInt8(ascii: ".")] + Base64Text.url(signature)
        return String(decoding: jwt, as: UTF8.self)
    }

    /// - Parameter body: makes it a POST.
    func send(_ path: String, body: String? = nil, token: String? = nil) async throws -> CurlProgram.Answer {
        try await CurlProgram.send(
            server.baseURL + path, trusting: server.rootPEM,
            headers: ["Authorization": "Bearer \(try token ?? self.token())"], body: body.map { Array($0.utf8) })
    }

    /// The JSON of an answer of 200.
    func get(_ path: String) async throws -> JSONValue {
        let answer = try await send(path)
        #expect(answer.exitCode == 0 && answer.status == 200)
        return try JSONDocument(parsing: answer.body).root
    }

    /// Requests a page of the notification history.
    func history(
        from start: Int64 = now - 170 * 86_400_000, to end: Int64 = now, further: String = "", page: String? = nil
    ) async throws -> CurlProgram.Answer {
        let query = page.map { "?paginationToken=\($0)" } ?? ""
        return try await send(
            "/inApps/v1/notifications/history\(query)", body: "{\"startDate\":\(start),\"endDate\":\(end)\(further)}")
    }

    /// All pages of a window, each with its JSON.
    func pages(further: String = "") async throws -> [JSONValue] {
        var pages: [JSONValue] = []
        repeat {
            let answer = try await history(further: further, page: pages.last?["paginationToken"]?.string)
            pages.append(try JSONDocument(parsing: answer.body).root)
        } while pages.last?["hasMore"]?.bool == true
        return pages
    }

    /// The payload of a JWS.
    static func payload(_ jws: JSONValue?) throws -> JSONValue {
        let text = try #require(jws?.stringBytes)
        let segment = Array(text.split(separator: UInt8(ascii: "."))[1])
        let payload = Base64.url.decode(segment.span)
        return try JSONDocument(parsing: try #require(payload)).root
    }

    static func code(_ answer: CurlProgram.Answer) -> Int64? {
        try? JSONDocument(parsing: answer.body).root["errorCode"]?.int64
    }
}

extension JSONValue {
    var list: [JSONValue] { Array(elements) }

    /// The items of a page of the notification history.
    var items: [JSONValue] { self["notificationHistory"]?.list ?? [] }

    /// The results of an item's attempts.
    var sendResults: [String] { self["sendAttempts"]?.list.compactMap { $0["sendAttemptResult"]?.string } ?? [] }

    /// The payloads of a page of the notification history.
    func payloads() throws -> [JSONValue] { try items.map { try AppleClient.payload($0["signedPayload"]) } }

    var uuids: [String] { get throws { try payloads().compactMap { $0["notificationUUID"]?.string } } }

    /// The transaction IDs of a page of a transaction history.
    var transactionIDs: [String] {
        get throws {
            try (self["signedTransactions"]?.list ?? []).compactMap {
                try AppleClient.payload($0)["transactionId"]?.string
            }
        }
    }
}
