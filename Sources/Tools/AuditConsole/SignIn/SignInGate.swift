import HTTP
import Settings

/// Identifies the visitor: by the session's cookie, or by the header fields of a trusted proxy.
final class SignInGate: Sendable {
    enum Answer: Sendable {
        /// - Parameter cookie: the cookie of a new session, to be set with the answer.
        case visitor(Visitor, cookie: String?)
        /// A request without a session; the sign-in page is shown next.
        case nobody
        /// A refused request, with an explanation for the user.
        case refused(String)
    }

    let sessions: Sessions
    let isSecure: Bool
    private let passwords: PasswordUsers?
    private let proxy: ProxySignIn?
    private let forwarders: [IPNetwork]
    private let check = PasswordCheck()
    private let throttle = SignInThrottle()
    private let durationMax: Duration

    init(_ settings: SettingsValues) throws(SettingsError) {
        durationMax = settings[ConsoleSettings.sessionMax]
        sessions = Sessions(idleMax: settings[ConsoleSettings.sessionIdleMax], durationMax: durationMax)
        isSecure = settings[ConsoleSettings.publicURL].flatMap(PublicURL.init)?.isSecure ?? false
        passwords = try settings[ConsoleSettings.passwordFile].map { path throws(SettingsError) in
            try PasswordUsers(path: path)
        }
        let addresses = settings[ConsoleSettings.proxyAddresses]
        forwarders = addresses + settings[ConsoleSettings.forwardingAddresses]
        proxy =
            addresses.isEmpty
            ? nil
            : ProxySignIn(
                addresses: addresses, userHeader: settings[ConsoleSettings.proxyUserHeader].lowercased(),
                groupsHeader: settings[ConsoleSettings.proxyGroupsHeader].lowercased(),
                roles: settings[ConsoleSettings.proxyRoles])
    }

    /// The name of the session's cookie; its prefix makes browsers refuse the cookie from any other
    /// host or without TLS (RFC 6265bis, section 4.1.3.2).
    var sessionCookie: String { isSecure ? "__Host-session" : "dead-letter-session" }
    private var formCookie: String { isSecure ? "__Host-sign-in" : "dead-letter-sign-in" }

    func answer(_ request: HTTPRequest) -> Answer {
        let known = cookie(sessionCookie, request).flatMap {
            sessions.visitor($0, isRefresh: request.headers["x-refresh"] != nil)
        }
        switch proxy?.result(request) ?? .untrusted {
        case .user(let name, let role):
            if let known, known.method == .proxy, known.name == name, known.role == role {
                return .visitor(known, cookie: nil)
            }
            let visitor = sessions.begin(name, role, by: .proxy)
            return .visitor(visitor, cookie: cookieField(visitor))
        case .noRole(let name):
            return .refused(
                "The proxy says that you are \(name), but none of your groups has a role here. Ask an "
                    + "administrator of the console for a role (console.proxy_roles).")
        case .unnamed where passwords == nil: return .refused("The proxy did not say who you are.")
        case .untrusted where passwords == nil: return .refused("Open the console through the proxy that signs you in.")
        case .unnamed, .untrusted: return known.flatMap(stillKnown).map { .visitor($0, cookie: nil) } ?? .nobody
        }
    }

    /// The visitor, if the password file still has the user with this role and password.
    ///
    /// Otherwise ends the session.
    private func stillKnown(_ visitor: Visitor) -> Visitor? {
        guard let user = passwords?.users[visitor.name.text], user.role == visitor.role,
            visitor.method == .password(user.hash)
        else {
            sessions.end(visitor.sessionID)
            return nil
        }
        return visitor
    }

    /// The signed-in user and the cookie to set, or the reason why the sign-in failed.
    typealias Attempt = Result<(Visitor, cookie: String), SignInProblem>

    func attempt(_ name: String, _ password: String, from request: HTTPRequest) async -> Attempt {
        guard let users = passwords?.users, name.utf8.count <= 255 else { return .failure(.wrong) }
        let network = PeerNetwork(client(request))
        let result = await check.withPlace { () async -> Attempt in
            if let wait = throttle.begin(network, name) {
                return .failure(.tooSoon(seconds: Int(wait.components.seconds) + 1))
            }
            guard let user = await check.user(name, password, among: users) else { return .failure(.wrong) }
            throttle.succeeded(network, name)
            if let former = cookie(sessionCookie, request) { sessions.end(former) }
            let visitor = sessions.begin(user.name, user.role, by: .password(user.hash))
            return .success((visitor, cookie: cookieField(visitor)))
        }
        return result ?? .failure(.busy)
    }

    /// The browser's address: the peer's, or behind trusted proxies the last address in
    /// `X-Forwarded-For` that is not a proxy's.
    ///
    /// Earlier addresses in that field are untrusted.
    private func client(_ request: HTTPRequest) -> IPAddress? {
        guard let peer = request.peer else { return nil }
        var client = peer
        var hops = (request.headers["x-forwarded-for"] ?? "").split(separator: ",")
        while forwarders.contains(where: { $0.contains(client) }), let hop = hops.popLast(),
            let address = IPAddress(hop.filter { $0 != " " })
        { client = address }
        return client
    }

    /// The secret that ties the sign-in form to a browser before anyone is signed in.
    func formSecret(_ request: HTTPRequest) -> String? { cookie(formCookie, request) }

    func formCookieField(_ secret: String) -> String { field(formCookie, secret, maxAge: 3600) }

    /// The header field that deletes the session's cookie in the browser.
    var endingCookieField: String { field(sessionCookie, "", maxAge: 0) }

    private func cookieField(_ visitor: Visitor) -> String {
        field(sessionCookie, visitor.sessionID, maxAge: Int(durationMax.components.seconds))
    }

    private func field(_ name: String, _ value: String, maxAge: Int) -> String {
        "\(name)=\(value); Path=/; Max-Age=\(maxAge); HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
    }

    private func cookie(_ name: String, _ request: HTTPRequest) -> String? {
        let value = request.headers["cookie"].flatMap { HTTPForm.cookies($0)[name] }
        return value.flatMap { (20...100).contains($0.utf8.count) ? $0 : nil }
    }
}
