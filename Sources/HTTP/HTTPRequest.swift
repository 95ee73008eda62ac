/// One request, read whole and within the limits of the server.
package struct HTTPRequest: Sendable {
    package let method: HTTPMethod

    /// The path without the query, percent-decoded.
    package let path: String

    /// The arguments of the query string, percent-decoded; the last of a name wins.
    package let query: [String: String]

    /// The header fields by lower-case name; the last of a name wins.
    package let headers: [String: String]

    package let body: [UInt8]
}
