import HTTP
import Synchronization

/// Whether a request is meant for this console, and comes from one of its own pages.
final class RequestOrigin: Sendable {
    private let names: [String]
    /// The hosts under which the console is reached, in lower case, with their ports.
    private let hosts: Mutex<Set<String>>

    /// - Parameters:
    ///   - publicURL: the address that users type if a proxy stands before the console.
    ///   - address: the console's listen address.
    init(publicURL: PublicURL?, address: String) {
        let isLoopback = IPAddress(address)?.isLoopback ?? false
        let own = address.contains(":") ? "[\(address)]" : address
        names = (isLoopback ? ["localhost", "127.0.0.1", "[::1]"] : []) + [own]
        hosts = Mutex(Set([publicURL?.host].compactMap(\.self)))
    }

    /// Adds the hosts by which the console is reached directly.
    func listens(on port: UInt16) {
        let names = names.map { $0.lowercased() }
        hosts.withLock { hosts in
            hosts.formUnion(names.map { "\($0):\(port)" })
            // Browsers leave out the default port of http.
            if port == 80 { hosts.formUnion(names) }
        }
    }

    /// Whether the `Host` field names this console.
    ///
    /// A page under another name that resolves to this address (DNS rebinding) is refused here.
    func isHostAllowed(_ request: HTTPRequest) -> Bool {
        guard !request.repeatedHeaders.contains("host"), let host = request.headers["host"] else { return false }
        return hosts.withLock { $0.contains(host.lowercased()) }
    }

    /// Whether the browser's header fields, if there are any, name a page of this console as the source of a post.
    ///
    /// The form's token is checked as well.
    func isOwnPage(_ request: HTTPRequest) -> Bool {
        if let site = request.headers["sec-fetch-site"], site != "same-origin", site != "none" { return false }
        guard let origin = request.headers["origin"] else { return true }
        guard let page = PublicURL(origin) else { return false }
        return hosts.withLock { $0.contains(page.host) }
    }
}
