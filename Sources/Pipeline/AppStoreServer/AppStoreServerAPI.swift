package import AppStore
package import Curl
import JSON
import OpenSSL
import Platform

/// A client of the App Store Server API for one app in one environment, safe to share.
///
/// Requests to an endpoint keep its rate and fail until the time of Apple's last
/// `Retry-After`; a failed one is not repeated here. Nothing that it returns is verified. A
/// cancelled task stops waiting at once.
package final class AppStoreServerAPI: Sendable {
    let address: HTTPSAddress
    private let client: HTTPSClient
    private let tokens: TokenSource
    private let paces: [APIEndpoint: RequestPace]
    private let clock: APIClock

    /// Connects nowhere yet.
    ///
    /// - Parameters:
    ///   - server: a server on this machine in place of Apple's.
    ///   - https: its proxy is for Apple's server alone.
    ///   - limitPercent: the part of Apple's limits that is used, 1 to 100.
    package init(
        _ credentials: APICredentials, server: LoopbackServer? = nil, https: HTTPSOptions = HTTPSOptions(),
        limitPercent: Int = 50, clock: APIClock = .system
    ) throws(HTTPSError) {
        var https = https
        if let server {
            https.authorityFile = server.authorityFile
            https.proxy = nil
        }
        let environment = credentials.environment
        address = server?.address ?? Self.address(of: environment)
        client = try HTTPSClient(https)
        tokens = TokenSource(credentials)
        let paces = APIEndpoint.allCases.map { endpoint in
            let interval = endpoint.interval(in: environment, percent: limitPercent)
            return (endpoint, RequestPace(interval: interval))
        }
        self.paces = Dictionary(uniqueKeysWithValues: paces)
        self.clock = clock
    }

    private static func address(of environment: Environment) -> HTTPSAddress {
        HTTPSAddress(host: environment == .production ? "api.storekit.apple.com" : "api.storekit-sandbox.apple.com")
    }

    /// Ends the wait that a `Retry-After` has asked an endpoint's requests for.
    package func release(_ endpoint: APIEndpoint) { paces[endpoint]?.release() }

    /// Takes another key for the next request, of the same app in the same environment.
    package func replace(_ credentials: APICredentials) { tokens.replace(credentials) }
}

/// A server on this machine that stands for Apple's, such as a simulator.
package struct LoopbackServer: Sendable {
    let address: HTTPSAddress
    let authorityFile: String?

    /// Throws unless the URL names a loopback host and nothing else: a token goes nowhere else.
    ///
    /// - Parameter authorityFile: the PEM file of its only authority; nil for those of the system.
    package init(url: String, authorityFile: String?) throws(NotLoopback) {
        guard let address = HTTPSAddress(url: url), address.isLoopback else { throw NotLoopback() }
        self.address = address
        self.authorityFile = authorityFile
    }

    /// A URL to which no token is sent.
    package struct NotLoopback: Error, CustomStringConvertible {
        package let description = "expected https:// and localhost, 127.0.0.1 or [::1], with a port"
    }
}

extension AppStoreServerAPI {
    /// Requests a page of the notifications that Apple has sent, or failed to send, within the
    /// window.
    ///
    /// - Parameters:
    ///   - onlyFailures: leaves out those that our server has accepted.
    ///   - page: the token of the page before; the window must be the same.
    package func notificationHistory(_ window: Range<Timestamp>, onlyFailures: Bool, page: String? = nil)
        async throws(APIFailure) -> NotificationPage
    {
        var body = JSONWriter()
        body.object { body in
            body.optionalInt("startDate", window.lowerBound.milliseconds)
            body.optionalInt("endDate", window.upperBound.milliseconds)
            body.key("onlyFailures")
            body.bool(onlyFailures)
        }
        return try await self.page(
            .notificationHistory, .post(body.bytes),
            "/inApps/v1/notifications/history" + Self.query("?paginationToken=", page), reading: NotificationPage.init)
    }

    /// The response about all of the customer's subscriptions, as it came.
    package func subscriptionStatuses(_ transactionID: String) async throws(APIFailure) -> [UInt8] {
        let id = try Self.checked(transactionID, .subscriptionStatuses)
        let path = "/inApps/v1/subscriptions/\(id)"
        return try await json(.subscriptionStatuses, .get, path).documentBytes
    }

    /// Requests a page of the customer's transactions, the oldest first.
    ///
    /// - Parameter revision: of the page before; nil for the first one.
    package func transactionHistory(_ transactionID: String, revision: String? = nil) async throws(APIFailure)
        -> TransactionPage
    {
        let id = try Self.checked(transactionID, .transactionHistory)
        let query = "?sort=ASCENDING" + Self.query("&revision=", revision)
        let path = "/inApps/v2/history/\(id)" + query
        return try await page(.transactionHistory, .get, path, reading: TransactionPage.init)
    }

    /// Requests a page of the customer's refunded transactions.
    ///
    /// - Parameter revision: of the page before; nil for the first one.
    package func refundHistory(_ transactionID: String, revision: String? = nil) async throws(APIFailure)
        -> TransactionPage
    {
        let id = try Self.checked(transactionID, .refundHistory)
        let path = "/inApps/v2/refund/lookup/\(id)" + Self.query("?revision=", revision)
        return try await page(.refundHistory, .get, path, reading: TransactionPage.init)
    }

    /// The response about the order that a customer's receipt names, as it came.
    package func lookUp(orderID: String) async throws(APIFailure) -> [UInt8] {
        let id = try Self.checked(orderID, .orderLookup)
        return try await json(.orderLookup, .get, "/inApps/v1/lookup/\(id)").documentBytes
    }

    /// Reports to Apple that the customer has what the transaction is for; may be repeated.
    package func finish(_ transactionID: String) async throws(APIFailure) {
        let id = try Self.checked(transactionID, .finish)
        _ = try await send(.finish, .post([]), "/inApps/v1/transactions/\(id)/finish")
    }
}

extension AppStoreServerAPI {
    /// The body of a successful response, which has to be a JSON object.
    private func json(_ endpoint: APIEndpoint, _ method: HTTPSRequest.Method, _ path: String) async throws(APIFailure)
        -> JSONValue
    {
        let response = try await send(endpoint, method, path)
        let root: JSONValue
        do throws(JSONError) { root = try JSONDocument(parsing: response.body).root } catch {
            throw Self.unreadable(endpoint, "the response is not acceptable JSON: \(error)")
        }
        guard root.kind == .object else { throw Self.unreadable(endpoint, "the response is not a JSON object") }
        return root
    }

    private func page<Page>(
        _ endpoint: APIEndpoint, _ method: HTTPSRequest.Method, _ path: String,
        reading read: (JSONValue) throws(MalformedPage) -> Page
    ) async throws(APIFailure) -> Page {
        let root = try await json(endpoint, method, path)
        do throws(MalformedPage) { return try read(root) } catch {
            throw Self.unreadable(endpoint, "the response has no usable \(error.member)")
        }
    }

    private static func unreadable(_ endpoint: APIEndpoint, _ reason: String) -> APIFailure {
        APIFailure(endpoint, .retry(after: nil), httpStatus: 200, reason)
    }

    private func send(_ endpoint: APIEndpoint, _ method: HTTPSRequest.Method, _ path: String) async throws(APIFailure)
        -> HTTPSResponse
    {
        try await waitForTurn(endpoint)
        var isAnswered = false
        defer { paces[endpoint]?.end(isAnswered: isAnswered) }
        let request = try request(endpoint, method, path)
        let response: HTTPSResponse
        do throws(HTTPSError) { response = try await client.send(request) } catch { throw APIFailure(endpoint, error) }
        guard !(200..<300).contains(response.status) else {
            isAnswered = true
            return response
        }
        let failure = APIFailure(endpoint, response, now: clock.now())
        if case .retry(after: let time?) = failure.action {
            // A time in the past would be no wait.
            let soon = Timestamp(milliseconds: clock.now().milliseconds + 1_000)
            paces[endpoint]?.hold(until: max(time, soon))
        }
        if response.status == 401 { tokens.discard() }
        isAnswered = [.notFound, .refused, .restart].contains(failure.action)
        throw failure
    }

    private func waitForTurn(_ endpoint: APIEndpoint) async throws(APIFailure) {
        while let turn = paces[endpoint]?.take(now: clock.now(), uptime: clock.uptime()) {
            switch turn {
            case .go: return
            case .held(let time): throw APIFailure(endpoint, .retry(after: time), "Apple has asked to wait")
            case .wait(let wait): do { try await clock.sleep(wait) } catch { throw .cancelled(endpoint) }
            }
        }
    }

    private func request(_ endpoint: APIEndpoint, _ method: HTTPSRequest.Method, _ path: String) throws(APIFailure)
        -> HTTPSRequest
    {
        let token: String
        do throws(KeyError) { token = try tokens.token(at: clock.now()) } catch {
            throw APIFailure(endpoint, .stop, "\(error)")
        }
        var headers = [
            HTTPSHeader("Authorization", "Bearer \(token)"), HTTPSHeader("Accept", "application/json"),
            HTTPSHeader("User-Agent", "entitlement-pipeline"),
        ]
        if case .post = method { headers.append(HTTPSHeader("Content-Type", "application/json")) }
        return HTTPSRequest(method, url: address.url + path, headers: headers)
    }
}

extension AppStoreServerAPI {
    /// An identifier that can be part of a path; Apple's are digits, or letters and digits.
    private static func checked(_ id: String, _ endpoint: APIEndpoint) throws(APIFailure) -> String {
        guard idBytes.contains(id.utf8.count), id.utf8.allSatisfy({ $0.isUnreserved && $0 != 0x2E }) else {
            throw APIFailure(endpoint, .notFound, "the identifier cannot be one of Apple's")
        }
        return id
    }

    private static let idBytes = 1...128

    /// A query item, percent-encoded (RFC 3986 §2.3); empty without a value.
    private static func query(_ name: String, _ value: String?) -> String {
        value.map { name + $0.percentEncoded } ?? ""
    }
}
