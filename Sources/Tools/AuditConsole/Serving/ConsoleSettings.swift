package import HTTP
import JSON
package import Settings

/// The settings of the audit console.
package enum ConsoleSettings {
    package static let address = Setting(
        "console.address", .string(bytes: 1...64), default: "127.0.0.1", "Listen address of the console, IPv4 or IPv6.")
    package static let port = Setting(
        "console.port", .int(0...65_535), default: 9440,
        "Listen port of the console; 0 for any free port, which is printed.")
    package static let publicURL = Setting<String?>.optional(
        "console.public_url", .origin,
        "What users type to reach the console through a proxy; with https cookies are Secure.")
    package static let passwordFile = Setting<String?>.optional(
        "console.password_file", .file, "Users with passwords, a line for each, as dead-letter password prints it.")
    package static let proxyAddresses = Setting(
        "console.proxy_addresses", .networks, default: [],
        "Addresses of proxies whose header fields name the signed-in user; none by default.")
    package static let forwardingAddresses = Setting(
        "console.forwarding_addresses", .networks, default: [],
        "Addresses of other proxies whose X-Forwarded-For names the client: without it all users "
            + "of a proxy are slowed down together when one of them guesses passwords.")
    package static let proxyUserHeader = Setting(
        "console.proxy_user_header", .headerName, default: "X-Forwarded-User",
        "Header field with the user's name, which the proxy sets on each request.")
    package static let proxyGroupsHeader = Setting(
        "console.proxy_groups_header", .headerName, default: "X-Forwarded-Groups",
        "Header field with the user's groups, comma-separated, which the proxy sets likewise.")
    package static let proxyRoles = Setting(
        "console.proxy_roles", .groupRoles, default: [],
        "What role the members of a group have: viewer, investigator (may reveal) or operator (may "
            + "replay); the highest counts.")
    package static let sessionIdleMax = Setting(
        "console.session_idle_max", .duration(.seconds(60)...(.seconds(86_400))), default: .seconds(1800),
        "Time without a request after which a user has to sign in again.")
    package static let sessionMax = Setting(
        "console.session_max", .duration(.seconds(60)...(.seconds(7 * 86_400))), default: .seconds(12 * 3600),
        "Time after which a user has to sign in again in any case.")

    package static let declarations = [
        address.declaration, port.declaration, publicURL.declaration, passwordFile.declaration,
        proxyAddresses.declaration, forwardingAddresses.declaration, proxyUserHeader.declaration,
        proxyGroupsHeader.declaration, proxyRoles.declaration, sessionIdleMax.declaration, sessionMax.declaration,
    ]

    /// Problems in the combination of settings.
    package static func problems(_ values: SettingsValues) -> [SettingProblem] {
        func problem(_ setting: SettingDeclaration, _ message: String) -> [SettingProblem] {
            [SettingProblem(setting: setting.name, message: message)]
        }
        let hasProxy = !values[proxyAddresses].isEmpty
        if !hasProxy, values[passwordFile] == nil {
            return problem(
                passwordFile.declaration,
                "nobody could sign in: name a file of passwords (CONSOLE_PASSWORD_FILE; "
                    + "'dead-letter password NAME --role ROLE' prints its lines), or the "
                    + "addresses of a proxy that signs users in (CONSOLE_PROXY_ADDRESSES)")
        }
        if ["0.0.0.0", "::"].contains(values[address]), values[publicURL] == nil {
            return problem(
                publicURL.declaration,
                "required if the console listens on all addresses: it names the host under which "
                    + "users reach the console, and any other host is refused")
        }
        if hasProxy, values[proxyRoles].isEmpty {
            return problem(
                proxyRoles.declaration,
                "no user of the proxy would have a role: expected group=role, such as "
                    + "auditors=viewer,oncall=operator")
        }
        return []
    }
}

extension ConsoleSettings {
    /// A warning about settings that are valid but let an attacker lock users out.
    ///
    /// `nil` without such settings.
    ///
    /// The console has no TLS of its own, so https in its public address means a proxy.
    static func note(_ values: SettingsValues) -> String? {
        let isForwarded = values[publicURL].flatMap(PublicURL.init)?.isSecure ?? false
        guard isForwarded, values[passwordFile] != nil, values[proxyAddresses].isEmpty,
            values[forwardingAddresses].isEmpty
        else { return nil }
        return "console.public_url is https, so a proxy forwards to the console: name it in "
            + "console.forwarding_addresses, or a person who guesses passwords locks all users out"
    }
}

extension SettingKind where Value == [IPNetwork] {
    fileprivate static var networks: SettingKind {
        .list("address list", expected: "comma-separated IP addresses or networks, such as 10.0.0.5,10.1.0.0/16") {
            IPNetwork($0)
        }
    }
}

extension SettingKind where Value == [GroupRole] {
    fileprivate static var groupRoles: SettingKind {
        .list("role list", expected: "comma-separated group=role, such as auditors=viewer,oncall=operator") {
            GroupRole($0)
        }
    }
}

extension SettingKind where Value == String {
    /// The name of a header field (RFC 9110, section 5.1).
    fileprivate static var headerName: SettingKind {
        SettingKind(
            type: "header name", expected: "the name of a header field, such as X-Forwarded-User",
            read: { input throws(SettingMismatch) in
                guard let text = input.string, (1...100).contains(text.utf8.count),
                    text.utf8.allSatisfy({ Self.tokenCharacters.contains($0) })
                else { throw SettingMismatch([]) }
                return text
            }, render: { $0 })
    }

    /// An origin: `https://host` or `http://host:port`, without a path.
    fileprivate static var origin: SettingKind {
        SettingKind(
            type: "URL", expected: "https:// or http:// with a host and perhaps a port, without a path",
            read: { input throws(SettingMismatch) in
                guard let text = input.string, text.utf8.count <= 300, let origin = PublicURL(text) else {
                    throw SettingMismatch([])
                }
                return origin.text
            }, render: { $0 })
    }

    private static var tokenCharacters: Set<UInt8> {
        Set("!#$%&'*+-.^_`|~0123456789".utf8).union(UInt8(ascii: "a")...UInt8(ascii: "z")).union(
            UInt8(ascii: "A")...UInt8(ascii: "Z"))
    }
}

/// The scheme, host and port under which users reach the console.
struct PublicURL: Sendable {
    let isSecure: Bool
    /// The host as browsers write it in the `Host` field: in lower case, without the scheme's default port.
    let host: String

    var text: String { (isSecure ? "https://" : "http://") + host }

    init?(_ text: String) {
        let text = text.lowercased()
        isSecure = text.hasPrefix("https://")
        guard isSecure || text.hasPrefix("http://") else { return nil }
        let rest = text.dropFirst(isSecure ? 8 : 7)
        let address = rest.hasSuffix("/") ? rest.dropLast() : rest
        let defaultPort = isSecure ? ":443" : ":80"
        let host = address.hasSuffix(defaultPort) ? address.dropLast(defaultPort.count) : address
        guard !host.isEmpty, host.utf8.allSatisfy(Self.isHostCharacter) else { return nil }
        self.host = String(host)
    }

    private static func isHostCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: ".-:[]".utf8.contains(byte)
        }
    }
}
