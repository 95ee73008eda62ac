/// The request methods that a route can answer; `HEAD` is answered by the route for `GET`.
package enum HTTPMethod: String, Sendable, CaseIterable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"
}

/// A name and its value, of a query string or a form.
package struct HTTPItem: Hashable, Sendable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A complete request within the server's limits.
package struct HTTPRequest: Sendable {
    package let method: HTTPMethod

    /// The path without the query, percent-decoded.
    package let path: String

    /// The arguments of the query string, percent-decoded, in order.
    package let queryItems: [HTTPItem]

    /// The header fields by lower-case name; the last field of a name counts.
    package let headers: [String: String]

    /// The lower-case names of header fields that occur more than once.
    package let repeatedHeaders: Set<String>

    package let body: [UInt8]

    /// The client's address.
    ///
    /// `nil` if the system does not report it.
    package let peer: IPAddress?

    /// The arguments of the query string; the last argument of a name counts.
    package var query: [String: String] { Dictionary(queryItems.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }) }
}

/// The response of a route.
package struct HTTPResponse: Sendable {
    package var status: Int
    package var contentType: String
    package var headers: [String: String]
    package var body: [UInt8]
    /// An open file to send in place of the body, which the server closes; if it ends before its
    /// announced size, so does the connection.
    package var file: (descriptor: Int32, bytes: Int)?

    package init(
        status: Int = 200, contentType: String = "text/plain; charset=utf-8", headers: [String: String] = [:],
        body: [UInt8] = []
    ) {
        self.status = status
        self.contentType = contentType
        self.headers = headers
        self.body = body
    }

    package static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, body: Array(text.utf8))
    }

    package static func json(_ body: [UInt8], status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, contentType: "application/json", body: body)
    }
}

/// A method and a path, and their handler.
package struct HTTPRoute: Sendable {
    package typealias Handler = @Sendable (HTTPRequest) -> HTTPResponse

    package let method: HTTPMethod
    package let path: String
    package let handler: Handler

    /// Makes a route.
    ///
    /// - Parameters:
    ///   - path: the whole path, with its leading slash.
    ///   - handler: a closure on the server's only thread, which must answer from memory: while it runs, no other
    ///     request is served.
    package init(_ method: HTTPMethod, _ path: String, handler: @escaping Handler) {
        precondition(path.hasPrefix("/"), "a route's path begins with a slash")
        self.method = method
        self.path = path
        self.handler = handler
    }
}

/// A table that finds the route of a request; it is pure.
struct HTTPRouter: Sendable {
    enum Match {
        case found(HTTPMethod, HTTPHandling)
        case refused(HTTPResponse)
    }

    private let handlers: [String: [HTTPMethod: HTTPRoute.Handler]]

    init(_ routes: [HTTPRoute]) {
        var handlers: [String: [HTTPMethod: HTTPRoute.Handler]] = [:]
        for route in routes {
            let former = handlers[route.path, default: [:]].updateValue(route.handler, forKey: route.method)
            precondition(former == nil, "two routes for one method of \(route.path)")
        }
        self.handlers = handlers
    }

    func match(_ method: String, _ path: String) -> Match {
        guard let ofPath = handlers[path] else { return .refused(.text("not found\n", status: 404)) }
        let sought = HTTPMethod(rawValue: method == "HEAD" ? "GET" : method)
        guard let sought, let handler = ofPath[sought] else {
            var response = HTTPResponse.text("method not allowed\n", status: 405)
            response.headers["Allow"] = allowed(ofPath)
            return .refused(response)
        }
        return .found(sought, .immediate(handler))
    }

    private func allowed(_ ofPath: [HTTPMethod: HTTPRoute.Handler]) -> String {
        var names = ofPath.keys.map(\.rawValue)
        if ofPath[.get] != nil { names.append("HEAD") }
        return names.sorted().joined(separator: ", ")
    }
}
