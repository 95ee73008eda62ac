/// A page's title and content, without the frame that all pages share.
struct Page: Sendable {
    /// The parts of the console, as the navigation names them.
    enum Section: String, CaseIterable, Sendable {
        case overview = "Overview"
        case groups = "Groups"
        case search = "Search"
        case replays = "Replays"
        case refunds = "Refunds"
        case plans = "Plans"
        case history = "History"
        case help = "Help"

        var link: LocalLink {
            switch self {
            case .overview: LocalLink()
            case .groups: LocalLink("groups")
            case .search: LocalLink("search")
            case .replays: LocalLink("replays")
            case .refunds: LocalLink("refunds")
            case .plans: LocalLink("plans")
            case .history: LocalLink("history")
            case .help: LocalLink("help")
            }
        }
    }

    let title: String
    var status = 200
    var section: Section?
    let content: HTML

    init(_ title: String, status: Int = 200, section: Section? = nil, _ content: (inout HTML) -> Void) {
        self.title = title
        self.status = status
        self.section = section
        self.content = HTML(content)
    }

    /// A message in place of a page: what happened, and where to continue.
    static func notice(_ title: String, status: Int, _ sentence: String) -> Page {
        Page(title, status: status) { html in
            html.element("h1", text: title)
            html.element("p", text: sentence)
            html.element("p") { $0.link("Go to the overview", to: LocalLink()) }
        }
    }

    /// The bytes of the page with its frame.
    ///
    /// - Parameter visitor: the signed-in user; without one there is no navigation.
    func document(_ visitor: Visitor?, formToken: String) -> [UInt8] {
        var html = HTML()
        html.element("html", [HTML.Attribute("lang", "en")]) { html in
            html.element("head") { head(&$0) }
            html.element("body") { html in
                html.element("a", [.class("skip"), HTML.Attribute("href", "#main")], text: "Skip to the content")
                html.element("header", [.class("top")]) { html in header(&html, visitor, formToken: formToken) }
                html.element("main", [.id("main"), HTML.Attribute("tabindex", "-1")]) { html in html.append(content) }
            }
        }
        return html.document
    }

    private func head(_ html: inout HTML) {
        html.void("meta", [HTML.Attribute("charset", "utf-8")])
        html.void("meta", [.name("viewport"), HTML.Attribute("content", "width=device-width, initial-scale=1")])
        html.void("meta", [.name("color-scheme"), HTML.Attribute("content", "light dark")])
        html.element("title", text: "\(title) – Dead letters")
        html.void("link", [HTML.Attribute("rel", "stylesheet"), .href(Assets.stylesheet.link)])
        html.void("link", [HTML.Attribute("rel", "icon"), .type("image/svg+xml"), .href(Assets.icon.link)])
        html.element(
            "script", [HTML.Attribute("src", Assets.script.link.text), HTML.Attribute("defer", nil)], text: "")
    }

    private func header(_ html: inout HTML, _ visitor: Visitor?, formToken: String) {
        html.link("Dead letters", to: LocalLink(), class: "brand")
        guard let visitor else { return }
        html.element("nav", [.label("Main")]) { html in
            html.element("ul") { html in
                for section in Section.allCases {
                    let current = section == self.section
                    html.element("li") { html in
                        html.element(
                            "a", [.href(section.link)] + (current ? [HTML.Attribute("aria-current", "page")] : []),
                            text: section.rawValue)
                    }
                }
            }
        }
        html.element("div", [.class("visitor")]) { html in
            html.element("span", [.class("name")]) { html in html.foreign(visitor.name.text, bytesMax: 60) }
            html.element("span", [.class("tag")], text: visitor.role.rawValue)
            if visitor.method != .proxy {
                html.form(LocalLink("sign-out"), formToken) { html in
                    html.element("button", [.class("quiet")], text: "Sign out")
                }
            }
        }
    }
}

extension HTML {
    /// A form that posts, with its token.
    ///
    /// - Parameter hidden: names and values of hidden fields.
    mutating func form(
        _ target: LocalLink, _ token: String, hidden: KeyValuePairs<String, String> = [:], content: (inout HTML) -> Void
    ) {
        let posts = [Attribute("method", "post"), Attribute("action", target.text)]
        element("form", posts) { html in
            for (name, value) in [(ConsoleRequest.tokenField, token)] + Array(hidden) {
                html.void("input", [.type("hidden"), .name(name), .value(value)])
            }
            content(&html)
        }
    }

    /// A required field for a sentence that the history records.
    mutating func sentenceField(_ label: String, _ name: String, id: String? = nil, hint: String) {
        field(
            label, id: id ?? name,
            [
                .type("text"), .name(name), Attribute("required", nil), Attribute("maxlength", "500"),
                Attribute("autocomplete", "off"),
            ], hint: hint)
    }

    /// A field with its label above it.
    mutating func field(_ label: String, id: String, _ attributes: [Attribute], hint: String? = nil) {
        element("div", [.class("field")]) { html in
            html.element("label", [Attribute("for", id)], text: label)
            let described = hint == nil ? [] : [Attribute("aria-describedby", "\(id)-hint")]
            html.void("input", [.id(id)] + attributes + described)
            if let hint { html.element("p", [.class("hint"), .id("\(id)-hint")], text: hint) }
        }
    }
}
