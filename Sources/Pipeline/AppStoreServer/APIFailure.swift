package import AppStore
import Curl
import JSON

/// An error for a request without a usable response.
///
/// It contains no token, header or identifier, and of the body only Apple's error code.
package struct APIFailure: Error, Hashable, Sendable {
    /// The next step of the caller.
    package enum Action: Hashable, Sendable {
        /// The same request may succeed later: at this time, or after a delay that the caller chooses.
        case retry(after: Timestamp?)
        /// Apple refuses the pagination token, the revision or the age of the window: read from the
        /// first page again.
        case restart
        /// Apple does not know the transaction or order.
        case notFound
        /// Apple's error code states that this request will never be answered; other requests may be.
        case refused
        /// Every request of the app fails until an operator corrects the cause.
        case stop
    }

    package let endpoint: APIEndpoint
    package let action: Action
    package let httpStatus: Int?
    /// Apple's `errorCode` in the response.
    package let errorCode: Int64?
    /// Whether the caller's task was cancelled.
    package let isCancelled: Bool
    /// The reason, in words of this module or of libcurl.
    package let reason: String

    init(
        _ endpoint: APIEndpoint, _ action: Action, httpStatus: Int? = nil, errorCode: Int64? = nil,
        isCancelled: Bool = false, reason: String
    ) {
        self.endpoint = endpoint
        self.action = action
        self.httpStatus = httpStatus
        self.errorCode = errorCode
        self.isCancelled = isCancelled
        self.reason = reason
    }
}

extension APIFailure {
    /// Whether the window begins before Apple's oldest stored notification.
    package var isTooOld: Bool { errorCode == Self.startTooFarInPast }

    private static let startTooFarInPast: Int64 = 4_000_012
}

extension APIFailure: CustomStringConvertible {
    package var description: String {
        let code = errorCode.map { ", error \($0)" } ?? ""
        let status = httpStatus.map { "HTTP \($0)\(code): " } ?? ""
        return "App Store Server API, \(endpoint.rawValue): \(status)\(reason)"
    }
}

extension APIFailure {
    static func cancelled(_ endpoint: APIEndpoint) -> APIFailure {
        APIFailure(endpoint, .retry(after: nil), isCancelled: true, reason: "the request was cancelled")
    }

    init(_ endpoint: APIEndpoint, _ error: HTTPSError) {
        let action: Action =
            switch error.code {
            case .invalidRequest, .authorityUnreadable: .stop
            case .hostNotFound, .notConnected, .certificateRefused, .tlsFailed, .connectionLost, .timedOut,
                .responseTooLarge, .malformedResponse, .cancelled, .systemLimit:
                .retry(after: nil)
            }
        self.init(endpoint, action, isCancelled: error.code == .cancelled, reason: error.description)
    }

    /// - Parameter response: a response whose status is no success.
    init(_ endpoint: APIEndpoint, _ response: HTTPSResponse, now: Timestamp) {
        let document = try? JSONDocument(parsing: response.body)
        let code = document?.root["errorCode"]?.int64
        let time = response.header("retry-after").flatMap { RetryAfter.time($0, now: now) }
        let (action, reason) = Self.verdict(status: response.status, code: code, after: time)
        self.init(endpoint, action, httpStatus: response.status, errorCode: code, reason: reason)
    }

    /// The action and reason by Apple's error codes ("App Store Server API", Error codes).
    private static func verdict(status: Int, code: Int64?, after time: Timestamp?) -> (Action, String) {
        switch (status, code) {
        case (401, _): (.stop, "Apple refuses the token: check issuer ID, key ID, key file and clock")
        case (429, _), (_, 4_290_000): (.retry(after: time), "Apple's rate limit is exceeded")
        case (_, 4_000_005), (_, startTooFarInPast), (_, 4_000_014), (_, 4_000_017):
            (.restart, "Apple refuses the revision, the pagination token or the age of the window")
        case (_, 4_000_006), (_, 4_000_008), (_, 4_040_001), (_, 4_040_005), (_, 4_040_010):
            (.notFound, "Apple knows no such transaction or customer")
        case (_, 4_040_002), (_, 4_040_004), (_, 4_040_006): (.retry(after: time), "Apple asks to try again")
        case (_, 4_040_003): (.stop, "Apple knows no such app: check bundle ID and environment")
        case (400, let code?) where (4_000_000..<4_010_000).contains(code): (.refused, "Apple refuses the request")
        default:
            // A response without an error code comes from an edge server, a proxy or a temporary fault.
            (.retry(after: time), "Apple's server did not answer the request")
        }
    }
}
