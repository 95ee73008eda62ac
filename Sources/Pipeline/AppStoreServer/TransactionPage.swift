package import JSON

/// A page of a customer's transactions or refunds.
package struct TransactionPage: Sendable {
    /// The response as it came, with signed transactions that nobody has verified.
    package let body: [UInt8]
    /// A token to pass with the request for the next page, or to keep and ask for later purchases.
    package let revision: String?
    package let hasMore: Bool
}

extension TransactionPage {
    /// Reads a response's body.
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
