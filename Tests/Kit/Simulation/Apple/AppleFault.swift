/// An endpoint of the App Store Server API.
package enum AppleEndpoint: String, CaseIterable, Sendable {
    case notificationHistory = "POST /inApps/v1/notifications/history"
    case subscriptionStatuses = "GET /inApps/v1/subscriptions/{id}"
    case transactionHistory = "GET /inApps/v2/history/{id}"
    case refundHistory = "GET /inApps/v2/refund/lookup/{id}"
    case orderLookup = "GET /inApps/v1/lookup/{id}"
    case finish = "POST /inApps/v1/transactions/{id}/finish"
    case accountToken = "PUT /inApps/v1/transactions/{id}/appAccountToken"
    case consumption = "PUT /inApps/v2/transactions/consumption/{id}"
    case consumptionV1 = "PUT /inApps/v1/transactions/consumption/{id}"

    /// The endpoint of a request, and the ID in its path.
    ///
    /// `nil` for an unknown one.
    static func match(_ method: String, _ path: String) -> (endpoint: AppleEndpoint, id: String)? {
        let parts = "\(method) \(path)".split(separator: "/", omittingEmptySubsequences: false)
        for endpoint in allCases {
            let expected = endpoint.rawValue.split(separator: "/")
            guard parts.count == expected.count else { continue }
            let pairs = zip(parts, expected)
            guard pairs.allSatisfy({ $0 == $1 || $1 == "{id}" }) else { continue }
            return (endpoint, pairs.first { $1 == "{id}" }.map { String($0.0) } ?? "")
        }
        return nil
    }
}

/// A request that the server has seen.
package struct AppleRequest: Sendable {
    package let endpoint: AppleEndpoint
    /// Its place among all requests of its endpoint, from 1 on.
    package let number: Int
    /// The time by the server's clock, in milliseconds since 1970.
    package let time: Int64
    /// The transaction or order ID in the path; empty for the notification history.
    package let id: String
    /// Whether it asks for a page after the first, by a token or revision.
    package let isFurtherPage: Bool
    /// The first date of a notification history, in milliseconds since 1970.
    ///
    /// `nil` for another endpoint.
    package let startDate: Int64?
    /// The `bid` of its token.
    ///
    /// `nil` if that was refused.
    package internal(set) var bundleID: String?
    package internal(set) var tokenFault: AppleTokenFault?
    /// Whether it came before the time of a `Retry-After` that was sent to its app and endpoint.
    package internal(set) var isTooEarly = false
    package internal(set) var status = 0
}

/// A fault that the server shows in answer to one request.
package enum AppleFault: Sendable {
    /// Status 429 until this much later by the server's clock.
    ///
    /// Earlier requests get the same answer and are recorded as too early.
    case rateLimit(Duration)
    case unauthorized
    /// An error, with Apple's code if there is one.
    case error(status: Int, code: Int?)
    /// The connection ends in the middle of the body, or before the end of an empty answer: what
    /// was asked for is done all the same.
    case cutBody
    /// The `Content-Length` is the half of the body's, and so is what comes.
    case wrongContentLength
    /// The page also has an item of an app that nobody knows.
    case foreignItem
    /// The page also has a notification of a type that nobody knows.
    case unknownKind
    /// The page also has an entry without a notification in it.
    case unreadableEntry
    /// A page without items, and a token or revision for the one that was asked for.
    case emptyPage
    /// The last item of the page before this one comes again.
    case repeatedItem
    /// The pagination token has expired.
    case expiredToken
    /// A page from the beginning, with this token or revision for the next one.
    case nextToken(String)
}
