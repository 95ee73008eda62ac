import DeadLetters
import Traffic
import Worker

extension DemoResult {
    /// The whole result for a newcomer.
    var lines: [String] {
        [""] + wentIn + [""] + became + [""] + mayUse + [""] + deadLetters + [""] + verdict
    }

    private static let indent = 3

    private var wentIn: [String] {
        let refused = refusedKinds
        let good = counts.filter { !refused.contains($0.kind) }
        let bad = counts.filter { refused.contains($0.kind) }
        var table = TextTable([
            .init("genuine", .left), .init("", .right), .init("  to be refused", .left),
            .init("", .right),
        ])
        for row in 0..<max(good.count, bad.count) {
            table.add(Self.cells(good, row, "") + Self.cells(bad, row, "  "))
        }
        table.add(["", "", "", ""])
        table.add([
            "all genuine", Self.sum(good), "  all to be refused", Self.sum(bad),
        ])
        return [
            "1. What went in: \(Quantity.counted(items.count, "body", "bodies")) on "
                + "\(runName).raw, signed by a throw-away certificate authority", "",
        ] + table.lines(indent: Self.indent)
    }

    private static func cells(
        _ counts: [(kind: DemoKind, count: Int)],
        _ row: Int,
        _ margin: String
    ) -> [String] {
        guard row < counts.count else { return ["", ""] }
        return [margin + counts[row].kind.rawValue, Quantity.grouped(counts[row].count)]
    }

    private static func sum(_ counts: [(kind: DemoKind, count: Int)]) -> String {
        Quantity.grouped(counts.reduce(0) { $0 + $1.count })
    }

    private var became: [String] {
        var table = TextTable([
            .init("stage"), .init("records in", .right), .init("  = what became of them"),
        ])
        for stage in reconciliation.stages {
            table.add([
                stage.stage.rawValue, Quantity.grouped(stage.settled),
                "  = " + Reconciliation.sum(stage.counts),
            ])
        }
        let fanOut = reconciliation[.verify].map { verify in
            "verify made \(Quantity.grouped(verify.forwarded)) observations of "
                + "\(Quantity.counted(verify.counts[.forwarded] ?? 0, "body", "bodies"))"
        }
        return ["2. What became of every record, stage by stage", ""]
            + table.lines(indent: Self.indent) + [""]
            + indented([
                (fanOut ?? "") + ": one for each transaction in them.",
                "forwarded: says something new. refreshed: signed anew, no change. superseded:",
                "older than what is known. duplicate: known. resolved: the user is known.",
                "recorded: history only. unchanged: no row became different.",
                conservation,
            ])
    }

    private var conservation: String {
        reconciliation.isBalanced
            ? "It adds up: each record has one disposition, and each topic holds what was "
                + "forwarded."
            : "It does NOT add up."
    }

    private var mayUse: [String] {
        var lines = ["3. What some of the \(users.count) users may use, and why", ""]
        for userID in shownUserIDs {
            lines += indented([userID])
            let rows = rows(of: userID)
            lines += rows.isEmpty ? indented(["  nothing, ever"]) : rows.map { "     " + $0 }
        }
        let wrong = userProblems.count
        lines.append("")
        lines += indented([
            wrong == 0
                ? "All \(users.count) users have exactly what their purchases grant, and nobody "
                    + "else has anything."
                : "\(Quantity.counted(wrong, "user")) have other than what their purchases grant."
        ])
        return lines
    }

    private func rows(of userID: String) -> [String] {
        var table = TextTable([.init(""), .init(""), .init("")])
        for holding in holdings where holding.userID == userID {
            let sandbox = holding.environment == "Production" ? "" : " (\(holding.environment))"
            table.add([holding.key + sandbox, holding.span, holding.reason])
        }
        if let coins = states[userID]?.coins, coins != 0 {
            table.add(["coins", Quantity.grouped(coins), "credits of consumables, less refunds"])
        }
        return table.lines()
    }

    private var deadLetters: [String] {
        let (found, expected) = (letters.counts, expectedLetters)
        var table = TextTable([
            .init("reason"), .init("class"), .init("dead letters", .right),
            .init("expected", .right),
        ])
        let classes = Dictionary(letters.reasons.map { ($0.name, $0.deadLetterClass) }) { $1 }
        for reason in Set(found.keys).union(expected.keys).sorted() {
            table.add([
                reason, classes[reason] ?? "", Quantity.grouped(found[reason] ?? 0),
                Quantity.grouped(expected[reason] ?? 0),
            ])
        }
        let total = found.values.reduce(0, +)
        var lines = [
            "4. Dead letters: \(Quantity.grouped(total)), each with its original bytes", "",
        ]
        lines += table.lines(indent: Self.indent)
        if let example = letters.example {
            lines += ["", "   One of them whole, but for the middle of its value:", ""]
            lines += indented(
                DeadLetterText.whole(
                    example.letter,
                    example.original,
                    valueCharactersMax: Self.valueCharactersMax
                )
                .split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
            )
        }
        return lines
    }

    private static let valueCharactersMax = 400

    private var verdict: [String] {
        let time = Quantity.span(milliseconds: Int64(duration / .milliseconds(1)))
        guard problems.isEmpty else {
            return ["The demo FAILED:"] + problems.prefix(20).map { "   \($0)" }
        }
        return ["All as it must be. From the first body to the last settled record: \(time)."]
    }

    private func indented(_ lines: [String]) -> [String] {
        lines.map { $0.isEmpty ? "" : String(repeating: " ", count: Self.indent) + $0 }
    }
}

extension DemoHolding {
    /// `until 2026-12-01`, `for ever`, `ended 2026-11-11`.
    fileprivate var span: String {
        guard let until else { return isActive ? "for ever" : "" }
        let day = CalendarDate.day(milliseconds: until)
        return (isActive ? "until " : "ended ") + day + (isInGrace && isActive ? " (grace)" : "")
    }

    /// `com.example.pro.monthly, purchase 2000000000000012, by account token`.
    fileprivate var reason: String {
        let rule = ownershipRule.split(separator: "_").joined(separator: " ")
        return "\(productID), purchase \(originalTransactionID)"
            + (rule.isEmpty ? "" : ", owner by \(rule)")
    }
}
