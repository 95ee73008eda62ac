import AppStore
import DeadLetters
import JSON
import Commands
import Settings

/// Explanations of the reasons, states, roles and keys.
enum HelpPage {
    static let page = Page("Help", section: .help) { html in
        html.element("h1", text: "Help")
        html.element(
            "p", [.class("lead")],
            text: "A dead letter is a record that the pipeline refused. It is kept as it came, "
                + "with the reason. It counts as a purchase only if it is replayed and accepted.")
        contents(&html)
        for deadLetterClass in DeadLetterClass.allCases { reasons(of: deadLetterClass, &html) }
        states(&html)
        roles(&html)
        keys(&html)
    }

    private static func contents(_ html: inout HTML) {
        html.element("nav", [.label("On this page")]) { html in
            html.element("ul") { html in
                let links =
                    DeadLetterClass.allCases.map { ($0.rawValue, "Class \($0.rawValue)") } + [
                        ("states", "States"), ("roles", "Roles"), ("keys", "Keys"),
                    ]
                for (id, text) in links {
                    html.element("li") { html in html.element("a", [HTML.Attribute("href", "#\(id)")], text: text) }
                }
            }
        }
    }

    private static func reasons(of deadLetterClass: DeadLetterClass, _ html: inout HTML) {
        html.element("h2", [.id(deadLetterClass.rawValue)]) { html in
            html.text("Class ")
            html.element("span", [.class("tag \(deadLetterClass.rawValue)")], text: deadLetterClass.rawValue)
        }
        html.element("p", text: RefusalGuide.meaning(of: deadLetterClass))
        let reasons = RefusalReason.allCases.filter { $0.deadLetterClass == deadLetterClass }
        html.table(
            "Reasons of the class \(deadLetterClass.rawValue)", reasons,
            columns: [
                .init("reason", \.rawValue), .init("rule") { RefusalGuide($0).rule },
                .init("advice", title: "what to do") { RefusalGuide($0).advice },
            ] as [ReportColumn<RefusalReason>], by: "reason", id: \.rawValue)
    }

    private static func states(_ html: inout HTML) {
        html.element("h2", [.id("states")], text: "States")
        html.facts([
            "open": "Nobody has dealt with it, or its replay was refused again.",
            "replayed": "Sent again and accepted, or the outcome is not known yet.",
            "resolved": "Dealt with, with a note that says how.",
            "suppressed": "No action is needed, with a note that says why.",
        ])
    }

    private static func roles(_ html: inout HTML) {
        html.element("h2", [.id("roles")], text: "Roles")
        html.facts([
            "viewer": "Sees all pages, and the parts of originals that are known to be harmless.",
            "investigator": "May also reveal the whole original of a letter, which is recorded.",
            "operator": "May also replay, resolve, suppress and reopen.",
        ])
    }

    private static func keys(_ html: inout HTML) {
        html.element("h2", [.id("keys")], text: "Keys")
        html.element("p", text: "With JavaScript, outside of input fields:")
        html.element("dl", [.class("facts")]) { html in
            let keys = [
                (["/"], "search"), (["g", "o"], "overview"), (["g", "g"], "groups"), (["g", "r"], "replays"),
                (["g", "h"], "history"), (["?"], "this list"), (["j"], "next row"), (["k"], "previous row"),
                (["t"], "exact times, or times before now"),
            ]
            for (names, meaning) in keys {
                html.element("dt") { html in
                    for name in names {
                        html.element("kbd", text: name)
                        html.text(" ")
                    }
                }
                html.element("dd", text: meaning)
            }
        }
    }
}
