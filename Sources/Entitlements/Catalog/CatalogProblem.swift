/// One thing that is wrong with a catalog file, and where.
package struct CatalogProblem: Hashable, Sendable, CustomStringConvertible {
    /// Such as `products["coins.100"].credits[0].amount`.
    package var path: String
    /// What was expected.
    package var message: String

    package init(path: String, message: String) {
        self.path = path
        self.message = message
    }

    package var description: String {
        path.isEmpty ? message : "\(path): \(message)"
    }
}
