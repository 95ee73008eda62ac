import AppStore
import Curl
import Foundation
import OpenSSL
import TestSupport
import Testing

@testable import AppStoreServer

/// The requests of the client, their pace, and its answers to failures.
struct AppStoreServerAPITests {
    private typealias Response = HTTPSResponder.Response

    private static let window = Rig.start..<Timestamp(milliseconds: 1_764_201_600_000)
    private static let lastPage = Response.of(#"{"notificationHistory":[],"hasMore":false}"#)
    private static let history = Response.of(#"{"signedTransactions":[],"revision":"2_r","hasMore":false}"#)

    @Test func `each endpoint is called as Apple documents it`() async throws {
        let rig = try await Rig([
            Self.lastPage, Self.lastPage, .of(#"{"data":[]}"#), Self.history, Self.history, Self.history, Self.history,
            .of(#"{"status":0}"#), .of(), .of(),
        ])
        let api = rig.api
        _ = try await api.notificationHistory(Self.window, onlyFailures: true)
        _ = try await api.notificationHistory(Self.window, onlyFailures: false, page: "a+/=é&b")
        let statuses = try await api.subscriptionStatuses("1000")
        #expect(statuses == Array(#"{"data":[]}"#.utf8))
        _ = try await api.transactionHistory("1000")
        _ = try await api.transactionHistory("1000", revision: "1_x y")
        _ = try await api.refundHistory("1000")
        let refunds = try await api.refundHistory("1000", revision: "1_r")
        #expect(refunds.revision == "2_r")
        #expect(try await api.lookUp(orderID: "MK1A2B3C4D") == Array(#"{"status":0}"#.utf8))
        try await api.finish("1000")
        try await api.setAccountToken("7e3f2a10-52c0-4f53-9ab5-1fd1c1b0c6aa", ofPurchase: "1000")
        try await api.answerRefundRequest("1000", Array(#"{"customerConsented":true}"#.utf8))
        let requests = try rig.server.requests
        try #require(
            requests.map { $0.head.prefix { $0 != "\r\n" } } == [
                "POST /inApps/v1/notifications/history HTTP/1.1",
                "POST /inApps/v1/notifications/history?paginationToken=a%2B%2F%3D%C3%A9%26b HTTP/1.1",
                "GET /inApps/v1/subscriptions/1000 HTTP/1.1", "GET /inApps/v2/history/1000?sort=ASCENDING HTTP/1.1",
                "GET /inApps/v2/history/1000?sort=ASCENDING&revision=1_x%20y HTTP/1.1",
                "GET /inApps/v2/refund/lookup/1000 HTTP/1.1", "GET /inApps/v2/refund/lookup/1000?revision=1_r HTTP/1.1",
                "GET /inApps/v1/lookup/MK1A2B3C4D HTTP/1.1", "POST /inApps/v1/transactions/1000/finish HTTP/1.1",
                "PUT /inApps/v1/transactions/1000/appAccountToken HTTP/1.1",
                "PUT /inApps/v2/transactions/consumption/1000 HTTP/1.1",
            ])
        let times = #""startDate":1764115200000,"endDate":1764201600000"#
        #expect(requests[0].body == "{\(times),\"onlyFailures\":true}")
        #expect(requests[1].body == "{\(times),\"onlyFailures\":false}")
        #expect(requests[8].body.isEmpty)
        #expect(requests[9].body == #"{"appAccountToken":"7e3f2a10-52c0-4f53-9ab5-1fd1c1b0c6aa"}"#)
        #expect(requests[9].head.contains("Content-Type: application/json"))
        #expect(requests[10].body == #"{"customerConsented":true}"#)
        #expect(Set(try rig.tokens).count == 1)
        #expect(Set(requests.map(\.connection)) == [1])
    }

    @Test func `requests go to Apple's servers, or to this machine alone`() throws {
        let key = try PrivateKey.generate(.p256)
        let production = try AppStoreServerAPI(Rig.credentials(key))
        #expect(production.address.url == "https://api.storekit.apple.com")
        let sandbox = try AppStoreServerAPI(Rig.credentials(key, environment: .sandbox))
        #expect(sandbox.address.url == "https://api.storekit-sandbox.apple.com")
        for url in ["https://api.example.com", "http://localhost", "https://localhost/a"] {
            #expect(throws: LoopbackServer.NotLoopback.self) { try LoopbackServer(url: url, authorityFile: nil) }
        }
    }

    @Test(arguments: ["", "..", "a/b", "1?2", "1%2F", "1 2", "é", String(repeating: "1", count: 129)])
    func `an identifier that would change the path is not sent`(id: String) async throws {
        let rig = try await Rig([Self.history])
        for failure in [
            try await rig.failure { _ = try await $0.subscriptionStatuses(id) },
            try await rig.failure { _ = try await $0.transactionHistory(id) },
            try await rig.failure { _ = try await $0.refundHistory(id) },
            try await rig.failure { _ = try await $0.lookUp(orderID: id) },
            try await rig.failure { try await $0.finish(id) },
            try await rig.failure { try await $0.setAccountToken("t", ofPurchase: id) },
        ] { #expect(failure.action == .notFound) }
        #expect(try rig.server.requests.isEmpty)
    }

    @Test func `a storm of 429 is obeyed to the millisecond, by its endpoint alone`() async throws {
        let time = Rig.start.milliseconds + 5_001
        let limited = Response.of(
            status: 429, headers: ["Retry-After: \(time)"],
            #"{"errorCode":4290000,"errorMessage":"Rate limit exceeded."}"#)
        let rig = try await Rig([limited, Self.history, Self.lastPage])
        let failure = try await rig.failure { _ = try await $0.notificationHistory(Self.window, onlyFailures: true) }
        #expect(failure.action == .retry(after: Timestamp(milliseconds: time)))
        #expect(failure.errorCode == 4_290_000)
        _ = try await rig.api.transactionHistory("1000")
        #expect(rig.clock.sleeps.isEmpty)
        rig.clock.advance(.milliseconds(5_000))
        let held = try await rig.failure { _ = try await $0.notificationHistory(Self.window, onlyFailures: true) }
        #expect(held.action == failure.action)
        #expect(try rig.server.requests.count == 2)
        rig.clock.advance(.milliseconds(1))
        _ = try await rig.api.notificationHistory(Self.window, onlyFailures: true)
    }

    @Test func `requests to an endpoint keep half of Apple's limit`() async throws {
        let rig = try await Rig([Self.history], environment: .sandbox)
        for _ in 0..<3 { _ = try await rig.api.transactionHistory("1000") }
        _ = try await rig.api.refundHistory("1000")
        #expect(rig.clock.sleeps == [.milliseconds(400), .milliseconds(400)])
    }

    @Test func `a cancelled task stops waiting for its turn`() async throws {
        var clock = APIClock.system
        clock.sleep = { _ in try await ContinuousClock().sleep(for: .seconds(3_600)) }
        let rig = try await Rig([Self.history], environment: .sandbox, clock: clock)
        _ = try await rig.api.refundHistory("1000")
        let api = rig.api
        let task = Task { try await api.refundHistory("1000") }
        task.cancel()
        let cancelled = await #expect(throws: APIFailure.self) { try await task.value }
        #expect(cancelled?.isCancelled == true)
        #expect(try rig.server.requests.count == 1)
    }

    @Test func `a replaced key signs the next request`() async throws {
        let rig = try await Rig([Self.history])
        _ = try await rig.api.transactionHistory("1000")
        rig.api.replace(try Rig.credentials(PrivateKey.generate(.p256), keyID: "SECOND"))
        _ = try await rig.api.transactionHistory("1000")
        let headers = try rig.tokens.map { $0.prefix { $0 != "." } }
        #expect(headers[0] != headers[1])
        let second = Base64.url.encode(Array(#"{"alg":"ES256","kid":"SECOND","typ":"JWT"}"#.utf8))
        #expect(headers[1] == String(decoding: second, as: UTF8.self))
    }

    @Test func `a refused token is made again`() async throws {
        let rig = try await Rig([.of(status: 401), Self.history])
        let failure = try await rig.failure { _ = try await $0.transactionHistory("1000") }
        #expect(failure.action == .stop)
        rig.clock.advance(.seconds(1))
        _ = try await rig.api.transactionHistory("1000")
        #expect(Set(try rig.tokens).count == 2)
    }
}
