import AppStore
import Foundation
import OpenSSL
import Synchronization
import TestSupport
import Testing

@testable import AppStoreServer

/// A client of a scripted server, by a clock that a test sets.
struct Rig: ~Copyable {
    static let bundleID: Identifier = "com.example.app"
    static let start = Timestamp(milliseconds: 1_764_115_200_000)

    let server: HTTPSResponder
    let api: AppStoreServerAPI
    let key: PrivateKey
    let clock: ImmediateClock

    init(_ responses: [HTTPSResponder.Response], environment: Environment = .production, clock system: APIClock? = nil)
        async throws
    {
        let clock = ImmediateClock(at: Self.start)
        let key = try PrivateKey.generate(.p256)
        let server = try await HTTPSResponder.start(responses)
        let loopback = try LoopbackServer(url: server.url, authorityFile: server.certificates.authority)
        api = try AppStoreServerAPI(
            Self.credentials(key, environment: environment), server: loopback, clock: system ?? clock.clock)
        self.server = server
        self.key = key
        self.clock = clock
    }

    static func credentials(_ key: PrivateKey, environment: Environment = .production, keyID: String = "2X9R4HXF34")
        throws -> APICredentials
    {
        try APICredentials(
            bundleID: bundleID, environment: environment, issuerID: "57246542-96fe-1a63-e053-0824d011072a",
            keyID: keyID, keyFile: Array(key.pem.utf8))
    }

    /// The tokens of the requests so far.
    var tokens: [String] {
        get throws {
            try server.requests.map { request in
                let line = request.head.split(separator: "\r\n").first { $0.hasPrefix("Authorization: Bearer ") }
                return try #require(line?.split(separator: " ").last.map(String.init))
            }
        }
    }

    /// The failure of a call.
    func failure(_ call: (AppStoreServerAPI) async throws -> Void) async throws -> APIFailure {
        let failure = await #expect(throws: APIFailure.self) { try await call(api) }
        return try #require(failure)
    }

    deinit { server.stop() }
}

/// A clock whose sleeps end at once, at their time.
final class ImmediateClock: Sendable {
    private struct State {
        var now: Timestamp
        var uptime = Duration.zero
        var sleeps: [Duration] = []
    }

    private let state: Mutex<State>

    init(at now: Timestamp) { state = Mutex(State(now: now)) }

    var sleeps: [Duration] { state.withLock(\.sleeps) }
    var now: Timestamp { state.withLock(\.now) }

    /// Sets the time of day alone.
    func set(_ now: Timestamp) { state.withLock { $0.now = now } }

    func advance(_ time: Duration) {
        state.withLock { state in
            state.uptime += time
            let passed = Int64(time / .milliseconds(1))
            state.now = Timestamp(milliseconds: state.now.milliseconds + passed)
        }
    }

    var clock: APIClock {
        APIClock(
            now: { self.now }, uptime: { self.state.withLock(\.uptime) },
            sleep: { time in
                self.state.withLock { $0.sleeps.append(time) }
                self.advance(time)
            })
    }
}
