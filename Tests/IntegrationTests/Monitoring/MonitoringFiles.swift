import Foundation
import JSON

/// The files for monitoring in `deploy`: rules, dashboard and runbook.
enum MonitoringFiles {
    static let deploy = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "../../../deploy"
    ).standardizedFileURL

    static func text(_ path: String) throws -> String {
        try String(contentsOf: deploy.appendingPathComponent(path), encoding: .utf8)
    }

    static let ruleFiles = ["alerts.yaml", "objectives.yaml"]

    /// The text of the rules, changed so that an alert fires and clears within seconds of its
    /// cause.
    ///
    /// Windows are short, and a small load reaches the thresholds.
    static func shortenedRules() throws -> [String: String] {
        var rules: [String: String] = [:]
        for name in ruleFiles {
            var text = try Self.text("prometheus/\(name)")
            text.replace(/\[\d+[mhd]\]/, with: "[10s]")
            text.replace(/\[\d+[mhd]:\d+m\]/, with: "[10s:1s]")
            text.replace(/offset \d+[mh]/, with: "offset 10s")
            text.replace(/for: \d+[mh]/, with: "for: 1s")
            rules[name] = text
        }
        for (threshold, smaller) in thresholds {
            let known = rules.filter { $0.value.contains(threshold) }
            guard !known.isEmpty else { throw PipelineFailure("no rule has \(threshold)") }
            for (name, text) in known { rules[name] = text.replacingOccurrences(of: threshold, with: smaller) }
        }
        return rules
    }

    private static let thresholds = [
        #"|dead-letter-index"}) > 30"#: #"|dead-letter-index"}) > 2"#,
        #"|dead-letter-index"}) > 60"#: #"|dead-letter-index"}) > 3"#,
        #"{stage="dead-letter-index"}) > 300"#: #"{stage="dead-letter-index"}) > 3"#,
        "_timestamp_seconds) > 7200": "_timestamp_seconds) > 15", "> 129600": "> 30",
        "          > 5000\n": "          > 5\n", "          > 10\n": "          > 2\n",
        "(entitlements_feed_oldest_waiting_seconds) > 60": "(entitlements_feed_oldest_waiting_seconds) > 3",
        "(entitlements_boundary_delay_seconds) > 300": "(entitlements_boundary_delay_seconds) > 3",
        "(entitlements_feed_waiting_changes) > 100000": "(entitlements_feed_waiting_changes) > 20",
        "(entitlements_link_oldest_unprojected_seconds) > 900": "(entitlements_link_oldest_unprojected_seconds) > 3",
        "[10s:1s]) > 100": "[10s:1s]) > 5",
    ]

    /// The names of all alerts, in the order of the files.
    static func alerts() throws -> [String] {
        try ruleFiles.flatMap { name in
            try text("prometheus/\(name)").matches(of: /- alert: (\w+)/).map { String($0.1) }
        }
    }

    /// The expressions of all rules.
    static func expressions() throws -> [String] {
        try ruleFiles.flatMap { name in
            let parts = try text("prometheus/\(name)").components(separatedBy: "expr:")
            return parts.dropFirst().map { rest in
                let end = rest.firstRange(of: /\n +(for|labels|- record|- alert):|\n  - name:/)
                let text = rest[..<(end?.lowerBound ?? rest.endIndex)]
                return text.replacingOccurrences(of: ">-\n", with: "").split(whereSeparator: \.isNewline).filter {
                    !$0.contains(/^ *#/)
                }.joined(separator: " ")
            }
        }
    }

    /// A panel of the dashboard and one of its queries, its variables filled in.
    struct PanelQuery: Sendable {
        let title: String
        let expression: String
    }

    static func panelQueries() throws -> [PanelQuery] {
        let panels = try dashboard()["panels"]?.elements.map(\.self) ?? []
        return panels.flatMap { panel in
            (panel["targets"]?.elements.map(\.self) ?? []).map { target in
                PanelQuery(title: panel["title"]?.string ?? "", expression: filled(target["expr"]?.string ?? ""))
            }
        }
    }

    /// The dashboard's queries beside its panels: values of variables, and annotations.
    static func otherQueries() throws -> [String] {
        let root = try dashboard()
        let variables = root["templating"]?["list"]?.elements.map(\.self) ?? []
        let values = variables.compactMap { $0["query"]?["query"]?.string }.map { query in
            query.replacing(/^label_values\((.+), \w+\)$/) { $0.1 }
        }
        let annotations = root["annotations"]?["list"]?.elements.map(\.self) ?? []
        return (values + annotations.compactMap { $0["expr"]?.string }).map(filled)
    }

    static func dashboard() throws -> JSONValue {
        try JSONDocument(parsing: Array(try text("grafana/dashboard.json").utf8)).root
    }

    /// A query with values for its variables.
    private static func filled(_ query: String) -> String {
        query.replacing("$stage", with: ".+").replacing("$instance", with: ".+").replacing(
            "$__rate_interval", with: "10s")
    }

    /// The address of the runbook, which operators replace by theirs, before the anchor.
    static let runbookAddress = "https://runbook.example.com/runbook.md"

    /// The anchors of the runbook's headings, as GitHub, GitLab and Gitea make them.
    static func anchors() throws -> Set<String> {
        Set(
            try text("runbook.md").matches(of: /\n#+ (.+)/).map { heading in
                heading.1.lowercased().filter { $0.isLetter || $0.isNumber || "- _".contains($0) }.replacing(
                    " ", with: "-")
            })
    }

    /// A command of the runbook, and its section.
    struct Command: Sendable {
        let section: String
        let line: String
    }

    /// The lines of all blocks of shell commands.
    static func commands() throws -> [Command] {
        var commands: [Command] = []
        var section = ""
        var isInBlock = false
        for line in try text("runbook.md").split(separator: "\n").map(String.init) {
            if line.hasPrefix("## ") {
                section = String(line.dropFirst(3))
            } else if line.trimmingCharacters(in: .whitespaces).hasPrefix("```") {
                isInBlock.toggle()
            } else if isInBlock {
                let line = line.trimmingCharacters(in: .whitespaces)
                commands.append(Command(section: section, line: line))
            }
        }
        return commands
    }

    /// The commands of our programs that sentences name.
    static func namedCommands() throws -> Set<String> {
        let parts = try text("runbook.md").components(separatedBy: "```")
        // Every other part is a block.
        let prose = parts.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
        return Set(
            prose.flatMap { $0.matches(of: /`((?:pipeline|dead-letter)\s[^`]+)`/) }.map { match in
                match.1.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            })
    }

    /// The sections of the runbook.
    static func sections() throws -> Set<String> {
        Set(try text("runbook.md").matches(of: /\n## (\w+)\n/).map { String($0.1) })
    }

    /// The selectors of an expression: names of metrics with their matchers.
    static func selectors(_ expression: String) -> [String] {
        expression.matches(of: /(?:entitlements|process)_[a-z0-9_]+(?:\{[^}]*\})?/).map { String($0.output) }
    }

    /// The labels by which an expression groups.
    static func groupings(_ expression: String) -> Set<String> {
        Set(
            expression.matches(of: /(?:by|on|ignoring) \(([a-z_, ]+)\)/).flatMap { match in
                match.1.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            })
    }
}
