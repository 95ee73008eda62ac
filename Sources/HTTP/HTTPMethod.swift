/// The request methods that a route can answer; `HEAD` is answered by the route for `GET`.
package enum HTTPMethod: String, Sendable, CaseIterable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"
}
