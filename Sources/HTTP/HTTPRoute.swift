/// One method of one path, and what answers it.
package struct HTTPRoute: Sendable {
    package typealias Handler = @Sendable (HTTPRequest) -> HTTPResponse

    package let method: HTTPMethod
    package let path: String
    package let handler: Handler

    /// Makes a route.
    ///
    /// - Parameters:
    ///   - path: compared whole, with its leading slash.
    ///   - handler: runs on the server's only thread, so it has to answer from memory: while it
    ///     works, nobody else is served.
    package init(_ method: HTTPMethod, _ path: String, handler: @escaping Handler) {
        precondition(path.hasPrefix("/"), "a route's path begins with a slash")
        self.method = method
        self.path = path
        self.handler = handler
    }
}
