package import JSON

/// A page of a customer's transactions or refunds.
package struct TransactionPage: Sendable {
    /// The unchanged body, with signed transactions that are not verified.
    package let body: [UInt8]
    /// The token for the request of the next page, or, stored, for a later request of newer purchases.
    package let revision: String?
    package let hasMore: Bool
}

extension TransactionPage {
    /// Parses a response's body.
    package init(_ root: JSONValue) throws(MalformedPage) {
        body = root.documentBytes
        let list = root["signedTransactions"]
        guard list?.kind ?? .array == .array else { throw MalformedPage("signedTransactions") }
        guard let hasMore = root["hasMore"]?.bool else { throw MalformedPage("hasMore") }
        self.hasMore = hasMore
        revision = root["revision"]?.string
        if hasMore, revision?.isEmpty ?? true { throw MalformedPage("revision") }
    }
}
