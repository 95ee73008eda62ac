import CMicroHTTPD

/// What the library's callbacks work with; the library holds one reference while the daemon runs.
final class HTTPService: Sendable {
    let connections: ConnectionLimits
    private let router: HTTPRouter
    private let bodyBytesMax: Int

    init(routes: [HTTPRoute], limits: HTTPLimits) {
        router = HTTPRouter(routes)
        bodyBytesMax = limits.bodyBytesMax
        connections = ConnectionLimits(limits)
    }

    enum Beginning {
        case exchange(HTTPExchange)
        case refused(HTTPResponse)
    }

    /// Judges a request by its head, before its body is read.
    func begin(_ connection: borrowing HTTPConnection, method: String, path: String) -> Beginning {
        connections.headRead(connection.socket)
        switch router.match(method: method, path: path) {
        case .refused(let response):
            return .refused(response)
        case .route(let method, let handler):
            let headers = connection.headers
            if let announced = headers["content-length"].flatMap(Int.init),
                announced > bodyBytesMax
            {
                return .refused(HTTPExchange.tooLarge)
            }
            return .exchange(
                HTTPExchange(
                    method: method,
                    path: path,
                    query: connection.query,
                    headers: headers,
                    bodyBytesMax: bodyBytesMax,
                    handler: handler
                )
            )
        }
    }
}
