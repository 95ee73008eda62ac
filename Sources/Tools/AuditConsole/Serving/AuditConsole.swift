import Foundation
package import HTTP
import Postgres
import Settings
import Store
import Telemetry

/// The web console: turns a request into a page.
///
/// The steps in order: the `Host` field, files, the visitor, the origin and the token of a post,
/// the route, the role, the page. All pages get the same header fields.
package final class AuditConsole: Sendable {
    let origin: RequestOrigin
    private let gate: SignInGate
    private let tokens = FormTokens()
    private let router: ConsoleRouter
    private let database: PostgresClient
    private let log: Log

    init(_ settings: SettingsValues, origin: RequestOrigin, routes: [ConsoleRoute], database: PostgresClient, log: Log)
        throws(SettingsError)
    {
        gate = try SignInGate(settings)
        self.origin = origin
        self.database = database
        self.log = log
        router = ConsoleRouter(routes: routes)
    }

    package func answer(_ request: HTTPRequest) async -> HTTPResponse {
        var response = await unframed(request)
        for (name, value) in Self.headers where response.headers[name] == nil { response.headers[name] = value }
        if gate.isSecure { response.headers["Strict-Transport-Security"] = "max-age=31536000" }
        return response
    }

    private static let headers = [
        "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
            + "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        "X-Frame-Options": "DENY",
        // `no-referrer` would keep browsers from sending an origin with a form.
        "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin", "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Cache-Control": "no-store",
    ]

    /// The readiness: whether the database answers and has the required schema version.
    private func readiness() async -> HTTPResponse {
        do {
            try await SchemaVersion.require(database)
            return .text("ready\n")
        } catch { return .text("not ready: the database does not answer or fit\n", status: 503) }
    }

    private func unframed(_ request: HTTPRequest) async -> HTTPResponse {
        // A platform probes this path by IP address and without a session.
        if request.method == .get, request.path == "/readyz" { return await readiness() }
        guard origin.isHostAllowed(request) else {
            return .text("this console is not reached under that host: see console.public_url\n", status: 421)
        }
        if request.path.hasPrefix("/assets/") {
            let name = String(request.path.dropFirst("/assets/".count))
            return request.method == .get ? Assets.response(name) ?? Self.missing : Self.missing
        }
        switch gate.answer(request) {
        case .refused(let sentence): return page(.notice("Not signed in", status: 403, sentence))
        case .nobody: return await signedOut(request)
        case .visitor(let visitor, let cookie):
            var response = await signedIn(request, visitor)
            if let cookie, response.headers["Set-Cookie"] == nil { response.headers["Set-Cookie"] = cookie }
            return response
        }
    }

    private static let missing = HTTPResponse.text("not found\n", status: 404)

    private func signedIn(_ request: HTTPRequest, _ visitor: Visitor) async -> HTTPResponse {
        let token = tokens.token(visitor.sessionID)
        func page(_ page: Page) -> HTTPResponse { self.page(page, visitor, token: token) }
        let form = request.method == .post ? HTTPForm.items(request.body) : []
        if request.method == .post, !isOwnForm(request, form, secret: visitor.sessionID) {
            return page(Self.foreignForm)
        }
        if request.path == "/sign-in" { return redirect(LocalLink()) }
        if request.path == "/sign-out", request.method == .post { return await signOut(visitor) }
        let (route, parameters): (ConsoleRoute, [String])
        switch router.match(request.method, request.path) {
        case .unknown: return page(.notice("Not found", status: 404, "There is no such page."))
        case .wrongMethod: return page(.notice("Not possible", status: 405, "This page does not take this request."))
        case .found(let foundRoute, let found): (route, parameters) = (foundRoute, found)
        }
        guard visitor.role >= route.role else {
            return page(
                .notice(
                    "Not allowed", status: 403,
                    "This requires the role \(route.role.rawValue); yours is \(visitor.role.rawValue)."))
        }
        let asked = ConsoleRequest(
            http: request, visitor: visitor, parameters: parameters, form: form, formToken: token)
        do {
            switch try await route.handler(asked) {
            case .page(let answered): return page(answered)
            case .redirect(let link): return redirect(link)
            }
        } catch {
            log.warning("page not answered", ["error": .string("\(error)")])
            return page(Self.unanswered(error))
        }
    }

    private static func unanswered(_ error: any Error) -> Page {
        let sqlState = (error as? PostgresError)?.sqlState
        guard sqlState != .insufficientPrivilege else {
            return .notice(
                "Not allowed to this console", status: 403,
                "The console's own role in the database lacks the right to do this. Nothing was "
                    + "changed. An operator of the console has to run it as "
                    + "\(ServeCommand.role.name): see 'pipeline grants'.")
        }
        return .notice(
            "Not available now", status: 503,
            "The database or Kafka did not answer as expected. Nothing was changed unless "
                + "the history says so; try again. The console's log has the cause.")
    }

    private static let foreignForm = Page.notice(
        "Form not accepted", status: 403,
        "The form does not belong to your session: it may be from before you signed in, or from "
            + "another site. Nothing was changed; open the page again.")

    /// Whether the request posts a form of this console and this session, in the encoding of forms.
    private func isOwnForm(_ request: HTTPRequest, _ form: [HTTPItem], secret: String) -> Bool {
        let type = request.headers["content-type"]?.prefix { $0 != ";" }.lowercased()
        let sent = form.filter { $0.name == ConsoleRequest.tokenField }
        guard type == "application/x-www-form-urlencoded", sent.count == 1 else { return false }
        return origin.isOwnPage(request) && tokens.isRight(sent[0].value, for: secret)
    }

    private func signOut(_ visitor: Visitor) async -> HTTPResponse {
        gate.sessions.end(visitor.sessionID)
        await record(visitor, .signedOut)
        var response = redirect(LocalLink("sign-in"))
        response.headers["Set-Cookie"] = gate.endingCookieField
        return response
    }

    private func page(_ page: Page, _ visitor: Visitor? = nil, token: String = "") -> HTTPResponse {
        HTTPResponse(
            status: page.status, contentType: "text/html; charset=utf-8", body: page.document(visitor, formToken: token)
        )
    }

    private func redirect(_ link: LocalLink) -> HTTPResponse {
        HTTPResponse(status: 303, headers: ["Location": link.text])
    }
}

extension AuditConsole {
    private func signedOut(_ request: HTTPRequest) async -> HTTPResponse {
        guard request.path == "/sign-in" else {
            guard request.method == .get else {
                return page(
                    .notice(
                        "Signed out", status: 403, "Your session is over. Nothing was changed; sign in and do it again."
                    ))
            }
            let asked = LocalLink(to: request).text
            return redirect(LocalLink("sign-in", query: [HTTPItem("next", asked)]))
        }
        guard request.method == .post else { return signInPage(request, next: request.query["next"], nil) }
        let form = HTTPForm.items(request.body)
        let fields = Dictionary(form.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        let next = fields["next"]
        guard let secret = gate.formSecret(request), isOwnForm(request, form, secret: secret) else {
            return signInPage(request, next: next, .stale)
        }
        let name = fields["name"] ?? ""
        switch await gate.attempt(name, fields["password"] ?? "", from: request) {
        case .failure(let problem):
            if problem == .wrong {
                let peer = request.peer?.description ?? "?"
                log.notice("sign-in refused", ["peer": .string(peer)])
            }
            return signInPage(request, next: next, problem)
        case .success(let (visitor, cookie)):
            log.info("user signed in", ["user": .string(visitor.name.text)])
            await record(visitor, .signedIn)
            var response = redirect(next.flatMap(LocalLink.init(parsing:)) ?? LocalLink())
            response.headers["Set-Cookie"] = cookie
            return response
        }
    }

    private func signInPage(_ request: HTTPRequest, next: String?, _ problem: SignInProblem?) -> HTTPResponse {
        let known = gate.formSecret(request)
        let secret = known ?? SecretText.make(32)
        let form = SignInPage(next: next, problem: problem, formToken: tokens.token(secret))
        var response = page(form.page)
        if known == nil { response.headers["Set-Cookie"] = gate.formCookieField(secret) }
        if case .tooSoon(let seconds) = problem { response.headers["Retry-After"] = String(seconds) }
        return response
    }

    /// Records a sign-in or sign-out in the history; a failure is only logged.
    private func record(_ visitor: Visitor, _ kind: DeadLetterAction.Kind) async {
        let action = NewDeadLetterAction(who: visitor.name.auditor, kind: kind, detail: visitor.role.rawValue)
        do { try await DeadLetterActionTable.append([action], on: database) } catch {
            log.warning("sign-in or sign-out not recorded", ["error": .string("\(error)")])
        }
    }
}
