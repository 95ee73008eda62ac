package import AppStore
package import Curl
import JSON
import OpenSSL
import Platform

/// A client of the App Store Server API for one app in one environment; tasks can share it.
///
/// Requests to an endpoint keep its rate, and fail until the time of Apple's last `Retry-After`.
/// The client does not repeat failed requests and does not verify responses. A cancelled task stops
/// waiting at once.
package final class AppStoreServerAPI: Sendable {
    let address: HTTPSAddress
    private let client: HTTPSClient
    private let tokens: TokenSource
    private let paces: [APIEndpoint: RequestPace]
    private let clock: APIClock

    /// Creates a client without connecting.
    ///
    /// - Parameters:
    ///   - server: a server on this machine that replaces Apple's; `nil` for Apple's.
    ///   - https: the connection options; the proxy is used only for Apple's server.
    ///   - limitPercent: the share of Apple's limits to use, 1 to 100.
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

    /// Ends an endpoint's pause after a `Retry-After`.
    package func release(_ endpoint: APIEndpoint) { paces[endpoint]?.release() }

    /// Uses another key from the next request on, for the same app and environment.
    package func replace(_ credentials: APICredentials) { tokens.replace(credentials) }
}

/// A server on this machine that replaces Apple's, such as a simulator.
package struct LoopbackServer: Sendable {
    let address: HTTPSAddress
    let authorityFile: String?

    /// Throws unless the URL names only a loopback host, so that no token is sent to another one.
    ///
    /// - Parameter authorityFile: the PEM file of the only trusted authority; `nil` for the
    ///   system's authorities.
    package init(url: String, authorityFile: String?) throws(NotLoopback) {
        guard let address = HTTPSAddress(url: url), address.isLoopback else { throw NotLoopback() }
        self.address = address
        self.authorityFile = authorityFile
    }

    /// An error for a URL to which no token may be sent.
    package struct NotLoopback: Error, CustomStringConvertible {
        package let description = "expected https:// and localhost, 127.0.0.1 or [::1], with a port"
    }
}

extension AppStoreServerAPI {
    /// Requests a page of the notifications that Apple has sent, or failed to send, in the window.
    ///
    /// - Parameters:
    ///   - onlyFailures: whether to omit notifications that the app's server has accepted.
    ///   - page: the token from the previous page, with the same window; `nil` for the first page.
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
            path: "/inApps/v1/notifications/history" + Self.query("?paginationToken=", page),
            reading: NotificationPage.init)
    }

    /// Requests the status of all of the customer's subscriptions; returns the body unchanged.
    package func subscriptionStatuses(_ transactionID: String) async throws(APIFailure) -> [UInt8] {
        let id = try Self.checked(transactionID, .subscriptionStatuses)
        let path = "/inApps/v1/subscriptions/\(id)"
        return try await json(.subscriptionStatuses, .get, path: path).documentBytes
    }

    /// Requests a page of the customer's transactions, the oldest first.
    ///
    /// - Parameter revision: the revision from the previous page; `nil` for the first page.
    package func transactionHistory(_ transactionID: String, revision: String? = nil) async throws(APIFailure)
        -> TransactionPage
    {
        let id = try Self.checked(transactionID, .transactionHistory)
        let query = "?sort=ASCENDING" + Self.query("&revision=", revision)
        let path = "/inApps/v2/history/\(id)" + query
        return try await page(.transactionHistory, .get, path: path, reading: TransactionPage.init)
    }

    /// Requests a page of the customer's refunded transactions.
    ///
    /// - Parameter revision: the revision from the previous page; `nil` for the first page.
    package func refundHistory(_ transactionID: String, revision: String? = nil) async throws(APIFailure)
        -> TransactionPage
    {
        let id = try Self.checked(transactionID, .refundHistory)
        let path = "/inApps/v2/refund/lookup/\(id)" + Self.query("?revision=", revision)
        return try await page(.refundHistory, .get, path: path, reading: TransactionPage.init)
    }

    /// Requests the order that a customer's receipt names; returns the body unchanged.
    package func lookUp(orderID: String) async throws(APIFailure) -> [UInt8] {
        let id = try Self.checked(orderID, .orderLookup)
        return try await json(.orderLookup, .get, path: "/inApps/v1/lookup/\(id)").documentBytes
    }

    /// Reports to Apple that the customer has received the purchased content; may be repeated.
    package func finish(_ transactionID: String) async throws(APIFailure) {
        let id = try Self.checked(transactionID, .finish)
        _ = try await send(.finish, .post([]), path: "/inApps/v1/transactions/\(id)/finish")
    }

    /// Sets the account token of a purchase, in place of another one; may be repeated.
    ///
    /// For a subscription Apple signs the present transaction and later ones with it, and no past one ("Set App
    /// Account Token"). Family members' purchases and assigned seats are refused.
    package func setAccountToken(_ token: String, ofPurchase originalTransactionID: String) async throws(APIFailure) {
        let id = try Self.checked(originalTransactionID, .accountToken)
        var body = JSONWriter()
        body.object { $0.optionalString("appAccountToken", token) }
        let path = "/inApps/v1/transactions/\(id)/appAccountToken"
        _ = try await send(.accountToken, .put(body.bytes), path: path)
    }

    /// Answers a refund request ("Send Consumption Information", or its V1); may be repeated with the same body.
    ///
    /// - Parameter answer: a `ConsumptionRequest`, or a `ConsumptionRequestV1`, which alone has a consumption status.
    package func answerRefundRequest(_ transactionID: String, _ answer: [UInt8]) async throws(APIFailure) {
        let id = try Self.checked(transactionID, .consumption)
        let isFirst = (try? JSONDocument(parsing: answer).root["consumptionStatus"]) != nil
        let version = isFirst ? "v1" : "v2"
        _ = try await send(.consumption, .put(answer), path: "/inApps/\(version)/transactions/consumption/\(id)")
    }
}

extension AppStoreServerAPI {
    /// Sends a request and returns the body of a successful response, which must be a JSON object.
    private func json(_ endpoint: APIEndpoint, _ method: HTTPSRequest.Method, path: String) async throws(APIFailure)
        -> JSONValue
    {
        let response = try await send(endpoint, method, path: path)
        let root: JSONValue
        do throws(JSONError) { root = try JSONDocument(parsing: response.body).root } catch {
            throw Self.unreadable(endpoint, "the response is not acceptable JSON: \(error)")
        }
        guard root.kind == .object else { throw Self.unreadable(endpoint, "the response is not a JSON object") }
        return root
    }

    private func page<Page>(
        _ endpoint: APIEndpoint, _ method: HTTPSRequest.Method, path: String,
        reading read: (JSONValue) throws(MalformedPage) -> Page
    ) async throws(APIFailure) -> Page {
        let root = try await json(endpoint, method, path: path)
        do throws(MalformedPage) { return try read(root) } catch {
            throw Self.unreadable(endpoint, "the response has no usable \(error.member)")
        }
    }

    private static func unreadable(_ endpoint: APIEndpoint, _ reason: String) -> APIFailure {
        APIFailure(endpoint, .retry(after: nil), httpStatus: 200, reason: reason)
    }

    private func send(_ endpoint: APIEndpoint, _ method: HTTPSRequest.Method, path: String) async throws(APIFailure)
        -> HTTPSResponse
    {
        try await waitForTurn(endpoint)
        var isAnswered = false
        defer { paces[endpoint]?.end(isAnswered: isAnswered) }
        let request = try request(endpoint, method, path: path)
        let response: HTTPSResponse
        do throws(HTTPSError) { response = try await client.send(request) } catch { throw APIFailure(endpoint, error) }
        guard !(200..<300).contains(response.status) else {
            isAnswered = true
            return response
        }
        let failure = APIFailure(endpoint, response, now: clock.now())
        if case .retry(after: let time?) = failure.action { paces[endpoint]?.hold(until: time) }
        if response.status == 401 { tokens.discard() }
        isAnswered = [.notFound, .refused, .restart].contains(failure.action)
        throw failure
    }

    private func waitForTurn(_ endpoint: APIEndpoint) async throws(APIFailure) {
        while let turn = paces[endpoint]?.take(now: clock.now(), uptime: clock.uptime()) {
            switch turn {
            case .go: return
            case .held(let time): throw APIFailure(endpoint, .retry(after: time), reason: "Apple has asked to wait")
            case .wait(let wait): do { try await clock.sleep(wait) } catch { throw .cancelled(endpoint) }
            }
        }
    }

    private func request(_ endpoint: APIEndpoint, _ method: HTTPSRequest.Method, path: String) throws(APIFailure)
        -> HTTPSRequest
    {
        let token: String
        do throws(KeyError) { token = try tokens.token(at: clock.now()) } catch {
            throw APIFailure(endpoint, .stop, reason: "\(error)")
        }
        var headers = [
            HTTPSHeader("Authorization", "Bearer \(token)"), HTTPSHeader("Accept", "application/json"),
            HTTPSHeader("User-Agent", "entitlement-pipeline"),
        ]
        if case .get = method {} else { headers.append(HTTPSHeader("Content-Type", "application/json")) }
        return HTTPSRequest(method, url: address.url + path, headers: headers)
    }
}

extension AppStoreServerAPI {
    /// Checks that an identifier can be part of a path; Apple's consist of digits, or of letters and digits.
    private static func checked(_ id: String, _ endpoint: APIEndpoint) throws(APIFailure) -> String {
        guard idBytes.contains(id.utf8.count), id.utf8.allSatisfy({ $0.isUnreserved && $0 != 0x2E }) else {
            throw APIFailure(endpoint, .notFound, reason: "the identifier cannot be one of Apple's")
        }
        return id
    }

    private static let idBytes = 1...128

    /// Returns a percent-encoded query item (RFC 3986 §2.3), or an empty text without a value.
    private static func query(_ name: String, _ value: String?) -> String {
        value.map { name + $0.percentEncoded } ?? ""
    }
}
