/// An attempt of Apple's server to deliver a notification.
package struct SendAttempt: Hashable, Sendable {
    /// The result in Apple's words (`sendAttemptResult`).
    package enum Result: String, Sendable {
        case success = "SUCCESS"
        case timedOut = "TIMED_OUT"
        case tlsIssue = "TLS_ISSUE"
        case noResponse = "NO_RESPONSE"
        case socketIssue = "SOCKET_ISSUE"
        case unsuccessfulHTTPResponseCode = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
    }

    /// Milliseconds since 1970.
    package let date: Int64
    package let result: Result

    package init(date: Int64, result: Result) {
        self.date = date
        self.result = result
    }

    /// The hours from each failed attempt to the next one; none follows the last.
    package static let retryHours: [Int64] = [1, 12, 24, 48, 72]

    /// All attempts that fail for one reason, as far as they have happened.
    static func failing(_ result: Result, from date: Int64, until now: Int64) -> [SendAttempt] {
        var next = date
        var attempts: [SendAttempt] = []
        for hours in [0] + retryHours {
            next += hours * 3_600_000
            guard next <= now else { break }
            attempts.append(SendAttempt(date: next, result: result))
        }
        return attempts
    }
}
