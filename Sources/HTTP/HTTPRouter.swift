/// Finds the route of a request; a pure table lookup.
struct HTTPRouter: Sendable {
    enum Match {
        case route(HTTPMethod, HTTPRoute.Handler)
        case refused(HTTPResponse)
    }

    private let handlers: [String: [HTTPMethod: HTTPRoute.Handler]]

    init(_ routes: [HTTPRoute]) {
        var handlers: [String: [HTTPMethod: HTTPRoute.Handler]] = [:]
        for route in routes {
            let former = handlers[route.path, default: [:]].updateValue(
                route.handler,
                forKey: route.method
            )
            precondition(former == nil, "two routes for one method of \(route.path)")
        }
        self.handlers = handlers
    }

    func match(method: String, path: String) -> Match {
        guard let ofPath = handlers[path] else {
            return .refused(.text("not found\n", status: 404))
        }
        let sought = HTTPMethod(rawValue: method == "HEAD" ? "GET" : method)
        guard let sought, let handler = ofPath[sought] else {
            var response = HTTPResponse.text("method not allowed\n", status: 405)
            response.headers["Allow"] = allowed(ofPath)
            return .refused(response)
        }
        return .route(sought, handler)
    }

    private func allowed(_ ofPath: [HTTPMethod: HTTPRoute.Handler]) -> String {
        var names = ofPath.keys.map(\.rawValue)
        if ofPath[.get] != nil {
            names.append("HEAD")
        }
        return names.sorted().joined(separator: ", ")
    }
}
