package import AppStore
import JSON
package import Records

/// What the original says of itself, for search only: nobody vouches for it.
package struct DeadLetterIdentifiers: Hashable, Sendable {
    package var transactionID: String?
    package var originalTransactionID: String?
    package var bundleID: String?
    package var environment: String?
    package var productID: String?
    /// Unix milliseconds, as text.
    package var signedDate: String?

    package init() {}

    /// What the verifier found in a body that it refused.
    package init(_ unverified: UnverifiedIdentifiers) {
        transactionID = unverified.transactionID
        originalTransactionID = unverified.originalTransactionID
        bundleID = unverified.bundleID
        environment = unverified.environment
        productID = unverified.productID
        signedDate = unverified.signedDate.map { String($0.milliseconds) }
    }

    /// What an observation names.
    package init(_ observation: Observation) {
        let payload = observation.transaction ?? observation.renewalInfo
        transactionID = payload?["transactionId"]?.string
        originalTransactionID = observation.originalTransactionID
        bundleID = observation.bundleID
        environment = observation.environment.rawValue
        productID = payload?["productId"]?.string
        signedDate = observation.verification.map { String($0.signedDate.milliseconds) }
    }

    package var isEmpty: Bool { self == DeadLetterIdentifiers() }

    /// The headers' names and the values, those that are there.
    var headers: [(name: String, text: String)] {
        [
            (DeadLetterHeader.transactionID, transactionID),
            (DeadLetterHeader.originalTransactionID, originalTransactionID),
            (DeadLetterHeader.bundleID, bundleID), (DeadLetterHeader.environment, environment),
            (DeadLetterHeader.productID, productID), (DeadLetterHeader.signedDate, signedDate),
        ].compactMap { name, text in text.map { (name, $0) } }
    }
}
