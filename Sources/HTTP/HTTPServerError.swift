/// Why a server could not start.
package struct HTTPServerError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        /// Not an IPv4 or IPv6 address, or one that this machine does not have.
        case addressUnusable
        case portInUse
        case portForbidden
        case systemLimit
    }

    package let code: Code

    /// Names the address, and what to do.
    package let description: String
}
