/// The reason for a failed sign-in.
enum SignInProblem: Error, Equatable {
    /// The form is from an earlier visit or another site.
    case stale
    case wrong
    case tooSoon(seconds: Int)
    /// Too many sign-ins at this moment.
    case busy

    fileprivate var status: Int {
        switch self {
        case .stale: 403
        case .wrong: 401
        case .tooSoon: 429
        case .busy: 503
        }
    }

    fileprivate var sentence: String {
        switch self {
        case .stale: "The form was too old. Please send it again."
        case .wrong: "Name or password is wrong."
        case .tooSoon(let seconds): "Too many attempts. Try again in \(seconds) seconds."
        case .busy: "Too many sign-ins at once. Please send it again."
        }
    }
}

/// The form for a name and a password.
struct SignInPage {
    /// The path and the query of the page to show after the sign-in.
    let next: String?
    let problem: SignInProblem?
    let formToken: String

    var page: Page {
        Page("Sign in", status: problem?.status ?? 200) { html in
            html.element("div", [.class("sign-in card")]) { html in
                html.element("h1", text: "Sign in")
                if let problem { html.notice(problem.sentence, .alert) }
                let hidden: KeyValuePairs = next.map { ["next": $0] } ?? [:]
                html.form(LocalLink("sign-in"), formToken, hidden: hidden) { fields(&$0) }
            }
        }
    }

    private func fields(_ html: inout HTML) {
        html.field(
            "Name", id: "name",
            [
                .type("text"), .name("name"), HTML.Attribute("autocomplete", "username"),
                HTML.Attribute("required", nil), HTML.Attribute("autocapitalize", "none"),
                HTML.Attribute("spellcheck", "false"),
            ])
        html.field(
            "Password", id: "password",
            [
                .type("password"), .name("password"), HTML.Attribute("autocomplete", "current-password"),
                HTML.Attribute("required", nil),
            ])
        html.element("button", [.class("primary")], text: "Sign in")
    }
}
