import Glibc
import HTTP
import JSON
import OpenSSL
import Synchronization

/// Apple's App Store Server API for one environment, over TLS on this machine.
///
/// It listens from the end of `init` until `stop()`, which has to be called.
package final class AppleServer: Sendable {
    package typealias Faults = @Sendable (AppleRequest) -> AppleFault?
    package typealias Latency = @Sendable (AppleRequest) async -> Void

    private struct State {
        var keys: [String: AppleAPIKey] = [:]
        var faults: Faults = { _ in nil }
        var latency: Latency = { _ in }
        var requests: [AppleRequest] = []
        var counts: [AppleEndpoint: Int] = [:]
        var retryTimes: [Caller: Int64] = [:]
    }

    /// The subject of a rate limit.
    private struct Caller: Hashable {
        let endpoint: AppleEndpoint
        let bundleID: String
    }

    private struct Listener {
        var server: HTTPServer?
        var port: UInt16 = 0
    }

    package let world: AppleWorld
    package let environment: String
    package let clock: SimulatedClock
    let tokenLifetime: Duration
    private let authority: ServerAuthority
    private let state = Mutex(State())
    private let listener = Mutex(Listener())

    /// Begins to listen as `localhost` and 127.0.0.1.
    ///
    /// - Parameters:
    ///   - clock: shows the time by which tokens, windows and `Retry-After` are judged.
    ///   - tokenLifetime: the time after which a pagination token has expired.
    package init(
        _ world: AppleWorld, environment: String = "Production", clock: SimulatedClock = SimulatedClock(),
        tokenLifetime: Duration = .seconds(3_600)
    ) throws {
        self.world = world
        self.environment = environment
        self.clock = clock
        self.tokenLifetime = tokenLifetime
        authority = try ServerAuthority()
        try listen()
    }

    /// Listens again on the same port, with a certificate of these hosts.
    package func listen(as hosts: [String] = ["localhost", "127.0.0.1"]) throws {
        stop()
        var limits = HTTPLimits.standard
        limits.connectionsMax = 256
        limits.connectionsPerAddressMax = 256
        limits.answersMax = 256
        limits.requestDurationMax = .seconds(600)
        let server = try HTTPServer(
            address: "127.0.0.1", port: listener.withLock(\.port), limits: limits,
            identity: authority.identity(of: hosts)
        ) { await self.answer($0) }
        listener.withLock { $0 = Listener(server: server, port: server.port) }
    }

    /// Ends all connections; nobody is answered until `listen(as:)`.
    package func stop() {
        let running = listener.withLock { $0.server.take() }
        running?.stop()
    }

    package var baseURL: String { "https://localhost:\(listener.withLock(\.port))" }

    /// The authority that a client has to trust, in PEM.
    package var rootPEM: String { authority.rootPEM }

    /// Accepts tokens signed with a key, in place of an earlier one of this ID.
    package func register(_ key: AppleAPIKey) { state.withLock { $0.keys[key.id] = key } }

    package func revoke(keyID: String) { state.withLock { $0.keys[keyID] = nil } }

    /// Asks the function, before each answer to a request with a good token, for a fault to show.
    package func inject(_ faults: @escaping Faults) { state.withLock { $0.faults = faults } }

    /// Waits for the function before each answer to a request with a good token is sent.
    package func delay(_ latency: @escaping Latency) { state.withLock { $0.latency = latency } }

    /// Ends the waits of `rateLimit`.
    package func forgetLimits() { state.withLock { $0.retryTimes = [:] } }

    /// All requests in their order.
    package var requests: [AppleRequest] { state.withLock(\.requests) }

    private func answer(_ request: HTTPRequest) async -> HTTPResponse {
        let method = request.method.rawValue
        guard let (endpoint, id) = AppleEndpoint.match(method, request.path) else {
            return AppleError.noSuchEndpoint.response
        }
        let page = request.query["paginationToken"] ?? request.query["revision"]
        let startDate = try? JSONDocument(parsing: request.body).root["startDate"]?.int64
        var (seen, index) = state.withLock { state in
            let number = state.counts[endpoint, default: 0] + 1
            state.counts[endpoint] = number
            let seen = AppleRequest(
                endpoint: endpoint, number: number, time: clock.now, id: id, isFurtherPage: page != nil,
                startDate: startDate)
            state.requests.append(seen)
            return (seen, state.requests.count - 1)
        }
        let response = answer(request, &seen)
        seen.status = response.status
        let latency = state.withLock { [seen] state in
            state.requests[index] = seen
            return state.latency
        }
        if seen.tokenFault == nil { await latency(seen) }
        return response
    }

    private func answer(_ request: HTTPRequest, _ seen: inout AppleRequest) -> HTTPResponse {
        let (keys, faults) = state.withLock { ($0.keys, $0.faults) }
        let bundleID: String
        do {
            bundleID = try AppleToken.bundleID(of: request.headers["authorization"], keys: keys, now: seen.time)
        } catch {
            seen.tokenFault = error
            return AppleError.unauthorized.response
        }
        seen.bundleID = bundleID
        let fault = faults(seen)
        if let retryTime = retryTime(of: seen, bundleID: bundleID, fault: fault) {
            seen.isTooEarly = seen.time < retryTime.former
            var response = AppleError.rateLimitExceeded.response
            response.headers["Retry-After"] = "\(retryTime.now)"
            return response
        }
        switch fault {
        case .unauthorized: return AppleError.unauthorized.response
        case .error(let status, let code): return AppleError(status, code, "A simulated error.").response
        case .expiredToken where seen.isFurtherPage: return AppleError.paginationTokenExpired.response
        default: return answer(request, seen, bundleID: bundleID, fault: fault)
        }
    }

    /// The times from which a limited caller may come again, before this request and after it.
    ///
    /// `nil` if the caller is not limited.
    private func retryTime(of seen: AppleRequest, bundleID: String, fault: AppleFault?) -> (former: Int64, now: Int64)?
    {
        let caller = Caller(endpoint: seen.endpoint, bundleID: bundleID)
        return state.withLock { state in
            let former = state.retryTimes[caller] ?? 0
            var now = former
            if case .rateLimit(let delay) = fault { now = max(former, seen.time + Int64(delay / .milliseconds(1))) }
            guard seen.time < now else { return nil }
            state.retryTimes[caller] = now
            return (former, now)
        }
    }

    /// The world's answer, changed or sent as the fault demands.
    private func answer(_ request: HTTPRequest, _ seen: AppleRequest, bundleID: String, fault: AppleFault?)
        -> HTTPResponse
    {
        var response: HTTPResponse
        do { response = try page(request, seen, bundleID: bundleID, fault: fault) } catch let error as AppleError {
            return error.response
        } catch { return AppleError.general.response }
        let bytes = response.body.count
        switch fault {
        case .cutBody:
            response.body.removeLast(bytes - bytes / 2)
            response.cut(announcing: max(1, bytes))
        case .wrongContentLength: response.body.removeLast(bytes - bytes / 2)
        default: break
        }
        return response
    }
}

extension HTTPResponse {
    /// Announces more bytes than the body has, so that the connection ends after the body.
    fileprivate mutating func cut(announcing bytes: Int) {
        guard let stream = tmpfile() else { return }
        fwrite(body, 1, body.count, stream)
        file = (dup(fileno(stream)), bytes)
        fclose(stream)
    }
}
