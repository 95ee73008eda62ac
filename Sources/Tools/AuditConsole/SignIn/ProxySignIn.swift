package import AppStore
import HTTP

/// Sign-in by a reverse proxy that authenticates users with OpenID Connect and names them in header fields.
///
/// The fields are trusted only on connections from the configured addresses, because anyone can send them.
struct ProxySignIn: Sendable {
    let addresses: [IPNetwork]
    /// Name of the field with the user's name, in lower case as in requests.
    let userHeader: String
    let groupsHeader: String
    let roles: [GroupRole]

    enum Result: Equatable {
        /// A request from an untrusted address, whose fields are ignored.
        case untrusted
        /// A request from the proxy without a name, with several, or with an invalid one.
        case unnamed
        /// A user in none of the groups that have a role.
        case noRole(UserName)
        case user(UserName, ConsoleRole)
    }

    func result(_ request: HTTPRequest) -> Result {
        guard let peer = request.peer, addresses.contains(where: { $0.contains(peer) }) else { return .untrusted }
        guard request.repeatedHeaders.isDisjoint(with: [userHeader, groupsHeader]),
            let name = request.headers[userHeader].flatMap(UserName.init)
        else { return .unnamed }
        let groups = (request.headers[groupsHeader] ?? "").split(separator: ",").map {
            $0.trimmingPrefix { $0 == " " }.description
        }.map { Identifier(String($0.reversed().drop { $0 == " " }.reversed())) }
        let role = roles.filter { groups.contains($0.group) }.map(\.role).max()
        return role.map { .user(name, $0) } ?? .noRole(name)
    }
}

/// A group of the identity provider, and the role of its members in the console.
package struct GroupRole: Hashable, Sendable, CustomStringConvertible {
    package let group: Identifier
    package let role: ConsoleRole

    package var description: String { "\(group)=\(role.rawValue)" }
}

extension GroupRole {
    /// Reads `group=role`.
    init?(_ text: String) {
        guard let equals = text.lastIndex(of: "="), equals != text.startIndex,
            let role = ConsoleRole(rawValue: String(text[text.index(after: equals)...]))
        else { return nil }
        self.init(group: Identifier(String(text[..<equals])), role: role)
    }
}
