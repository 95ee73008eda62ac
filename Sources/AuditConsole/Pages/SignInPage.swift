/// The form for a name and a password.
struct SignInPage {
    enum Problem: Equatable {
        case none
        /// The form is from an earlier visit or another site.
        case stale
        case wrong
        case tooSoon(seconds: Int)
        /// Too many sign-ins at this moment.
        case busy

        var status: Int {
            switch self {
            case .none: 200
            case .stale: 403
            case .wrong: 401
            case .tooSoon: 429
            case .busy: 503
            }
        }

        var sentence: String? {
            switch self {
            case .none: nil
            case .stale: "The form was too old. Please send it again."
            case .wrong: "Name or password is wrong."
            case .tooSoon(let seconds):
                "Too many attempts. The next one counts in \(seconds) seconds."
            case .busy: "Too many sign-ins at once. Please send it again."
            }
        }
    }

    /// The page to show afterwards, as the address bar had it.
    let next: String?
    let problem: Problem
    let formToken: String

    var page: Page {
        Page("Sign in", status: problem.status) { html in
            html.element("div", [.class("sign-in card")]) { html in
                html.element("h1", text: "Sign in")
                if let sentence = problem.sentence {
                    html.element(
                        "p",
                        [.class("alert"), HTML.Attribute("role", "alert")],
                        text: sentence
                    )
                }
                html.form(LocalLink("sign-in"), formToken) { fields(&$0) }
            }
        }
    }

    private func fields(_ html: inout HTML) {
        if let next {
            html.void("input", [.type("hidden"), .name("next"), .value(next)])
        }
        html.field(
            "Name",
            id: "name",
            [
                .type("text"), .name("name"), HTML.Attribute("autocomplete", "username"),
                HTML.Attribute("required", nil), HTML.Attribute("autocapitalize", "none"),
                HTML.Attribute("spellcheck", "false"),
            ]
        )
        html.field(
            "Password",
            id: "password",
            [
                .type("password"), .name("password"),
                HTML.Attribute("autocomplete", "current-password"),
                HTML.Attribute("required", nil),
            ]
        )
        html.element("button", [.class("primary")], text: "Sign in")
    }
}
