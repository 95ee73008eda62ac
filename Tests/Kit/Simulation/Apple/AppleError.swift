import HTTP
import JSON

/// An error of the App Store Server API: a status, and a body with Apple's code.
struct AppleError: Error {
    let status: Int
    /// The error code.
    ///
    /// `nil` for an answer without a body.
    let code: Int?
    let message: String

    init(_ status: Int, _ code: Int?, _ message: String = "") {
        self.status = status
        self.code = code
        self.message = message
    }

    static let badRequest = AppleError(400, 4_000_000, "Bad request.")
    static let invalidRevision = AppleError(400, 4_000_005, "Invalid revision.")
    static let invalidTransactionID = AppleError(400, 4_000_006, "Invalid transaction id.")
    static let startTooFarInPast = AppleError(400, 4_000_012, "Start date is too far in past.")
    static let startAfterEnd = AppleError(400, 4_000_013, "Start date is after end date.")
    static let invalidPaginationToken = AppleError(400, 4_000_014, "Invalid pagination token.")
    static let invalidStartDate = AppleError(400, 4_000_015, "Invalid start date.")
    static let invalidEndDate = AppleError(400, 4_000_016, "Invalid end date.")
    static let paginationTokenExpired = AppleError(400, 4_000_017, "Pagination token expired.")
    static let invalidSort = AppleError(400, 4_000_021, "Invalid sort.")
    static let invalidAccountToken = AppleError(400, 4_000_183, "Invalid app account token UUID.")
    static let familyTransaction = AppleError(400, 4_000_185, "Family transaction not supported.")
    static let notOriginalTransaction = AppleError(400, 4_000_187, "Not an original transaction id.")
    static let assignedTransaction = AppleError(400, 4_000_227, "Assigned transaction not supported.")
    static let invalidCustomerConsented = AppleError(400, 4_000_035, "The customer consented field is required.")
    static let invalidDeliveryStatus = AppleError(400, 4_000_036, "The delivery status field is invalid.")
    /// Apple does not publish the number of "AdvancedCommerceTransactionNotSupportedError".
    static let advancedCommerce = AppleError(400, 4_000_000, "Advanced Commerce transactions are not supported.")
    static let transactionType = AppleError(400, 4_000_047, "The transaction type is not supported.")
    /// The simulated Apple's own: Apple documents no error for an answer after its deadline.
    static let lateAnswer = AppleError(400, 4_000_000, "The refund was decided without this answer.")
    static let percentageOfSubscription = AppleError(400, 4_000_209, "The consumption percentage is not supported.")
    static let unauthorized = AppleError(401, nil)
    static let noSuchEndpoint = AppleError(404, nil)
    static let transactionNotFound = AppleError(404, 4_040_010, "Transaction id not found.")
    static let rateLimitExceeded = AppleError(429, 4_290_000, "Rate limit exceeded.")
    static let general = AppleError(500, 5_000_000, "An unknown error occurred.")

    var response: HTTPResponse {
        guard let code else { return HTTPResponse(status: status) }
        let body: JSONContent = ["errorCode": code, "errorMessage": message]
        return .json(body.bytes, status: status)
    }
}
