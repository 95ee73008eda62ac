import Foundation
import HTTP

/// A signed-in user's request for a page.
struct ConsoleRequest: Sendable {
    let http: HTTPRequest
    let visitor: Visitor
    /// The path segments at the route's open positions.
    let parameters: [String]
    /// The fields of the posted form; empty for a `GET`.
    let form: [HTTPItem]
    /// The token for the forms of the page.
    let formToken: String

    static let tokenField = "form-token"

    /// The value of a field of the form, without blanks around it; nil if it is missing.
    func field(_ name: String) -> String? {
        form.last { $0.name == name }?.value.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The value of an argument of the query; nil if it is missing or empty.
    func argument(_ name: String) -> String? {
        guard let item = http.queryItems.last(where: { $0.name == name }) else { return nil }
        let value = item.value.trimmingCharacters(in: .whitespacesAndNewlines)
        return value.isEmpty ? nil : value
    }
}

enum ConsoleResponse: Sendable {
    case page(Page)
    case redirect(LocalLink)

    static func notice(_ title: String, status: Int, _ sentence: String) -> ConsoleResponse {
        .page(.notice(title, status: status, sentence))
    }
}

/// A method of a path, the role that it requires, and its page.
struct ConsoleRoute: Sendable {
    typealias Handler = @Sendable (ConsoleRequest) async throws -> ConsoleResponse

    let method: HTTPMethod
    /// The path's segments; `nil` stands for any one segment that is not empty.
    let path: [String?]
    let role: ConsoleRole
    let handler: Handler

    /// - Parameter path: such as `letters/*/reveal`.
    init(_ method: HTTPMethod, _ path: String, _ role: ConsoleRole, handler: @escaping Handler) {
        self.method = method
        self.path = path.split(separator: "/").map { $0 == "*" ? nil : String($0) }
        self.role = role
        self.handler = handler
    }

    /// The segments at the open positions; nil if the path is not of this route.
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

/// The routes of the console; finding one is a walk over a few dozen.
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
