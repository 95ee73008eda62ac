import Foundation
import HTTP

/// A signed-in user's request for a page.
struct ConsoleRequest: Sendable {
    let http: HTTPRequest
    let visitor: Visitor
    /// The path segments that match the route's wildcards.
    let parameters: [String]
    /// The fields of the posted form; empty for a `GET`.
    let form: [HTTPItem]
    /// The token for the forms of the page.
    let formToken: String

    static let tokenField = "form-token"

    /// The value of a field of the form, without white space around it.
    ///
    /// `nil` if the field is missing.
    func field(_ name: String) -> String? { form.value(name)?.trimmingCharacters(in: .whitespacesAndNewlines) }

    /// The value of an argument of the query, without white space around it.
    ///
    /// `nil` if the argument is missing or empty.
    func argument(_ name: String) -> String? {
        let value = http.query[name]?.trimmingCharacters(in: .whitespacesAndNewlines)
        return value == "" ? nil : value
    }
}

extension [HTTPItem] {
    /// The value of the last item of this name.
    func value(_ name: String) -> String? { last { $0.name == name }?.value }
}

enum ConsoleResponse: Sendable {
    case page(Page)
    case redirect(LocalLink)

    static func notice(_ title: String, status: Int, _ sentence: String) -> ConsoleResponse {
        .page(.notice(title, status: status, sentence))
    }
}

/// A method and a path, the role that they require, and the handler.
struct ConsoleRoute: Sendable {
    typealias Handler = @Sendable (ConsoleRequest) async throws -> ConsoleResponse

    let method: HTTPMethod
    /// The path's segments; `nil` matches any segment that is not empty.
    let path: [String?]
    let role: ConsoleRole
    let handler: Handler

    /// - Parameter path: the path without its first slash, such as `letters/*/reveal`.
    init(_ method: HTTPMethod, _ path: String, for role: ConsoleRole, handler: @escaping Handler) {
        self.method = method
        self.path = path.split(separator: "/").map { $0 == "*" ? nil : String($0) }
        self.role = role
        self.handler = handler
    }

    /// The segments that match the wildcards.
    ///
    /// `nil` if the path does not match the route.
    func parameters(_ segments: [String]) -> [String]? {
        guard segments.count == path.count else { return nil }
        var parameters: [String] = []
        for (wanted, segment) in zip(path, segments) {
            guard let wanted else {
                parameters.append(segment)
                continue
            }
            guard wanted == segment else { return nil }
        }
        return parameters
    }
}

/// The routes of the console; a search compares a few dozen of them one by one.
struct ConsoleRouter: Sendable {
    enum Match {
        case found(ConsoleRoute, [String])
        case wrongMethod
        case unknown
    }

    let routes: [ConsoleRoute]

    func match(_ method: HTTPMethod, _ path: String) -> Match {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        let whole = segments == [""] ? [] : segments
        guard !whole.contains("") else { return .unknown }
        let ofPath = routes.compactMap { route in route.parameters(whole).map { (route, $0) } }
        guard let (route, parameters) = ofPath.first(where: { $0.0.method == method }) else {
            return ofPath.isEmpty ? .unknown : .wrongMethod
        }
        return .found(route, parameters)
    }
}
