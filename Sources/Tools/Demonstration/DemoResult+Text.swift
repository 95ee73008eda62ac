import AppStore
import Commands
import DeadLetters
import Operations
import Records
import Simulation
import Store

extension DemoResult {
    /// The lines of the whole result, written for newcomers.
    var lines: [String] {
        let sections: [[String]?] = [
            wentIn, DemoStageStory.lines(of: reconciliation), mayUse, deadLetters, plan.section, recovery?.lines,
            verdict,
        ]
        return sections.compactMap(\.self).flatMap { [""] + $0 }
    }

    static let margin = "   "

    private var wentIn: [String] {
        let refused = refusedKinds
        let good = counts.filter { !refused.contains($0.kind) }
        let bad = counts.filter { refused.contains($0.kind) }
        var table = TextTable([.init("genuine"), .init("", .right), .init("  to be refused"), .init("", .right)])
        for row in 0..<max(good.count, bad.count) {
            table.add(Self.cells(good, row, indent: "") + Self.cells(bad, row, indent: "  "))
        }
        table.add(["", "", "", ""])
        table.add(["together", Self.sum(good), "  together", Self.sum(bad)])
        let heading =
            "1. What went in: \(Quantity.counted(items.count, "body", "bodies")) on "
            + "\(runName).raw, signed by a throw-away authority"
        return [heading, ""] + table.lines(indent: Self.margin.count)
    }

    private static func cells(_ counts: [(kind: DemoKind, count: Int)], _ row: Int, indent: String) -> [String] {
        guard row < counts.count else { return ["", ""] }
        return [indent + counts[row].kind.rawValue, Quantity.grouped(counts[row].count)]
    }

    private static func sum(_ counts: [(kind: DemoKind, count: Int)]) -> String {
        Quantity.grouped(counts.reduce(0) { $0 + $1.count })
    }

    private var mayUse: [String] {
        var lines = ["3. What some of the \(users.count) users may use, and why", ""]
        for userID in shownUserIDs {
            lines.append(Self.margin + userID)
            lines += rows(of: userID).map { Self.margin + "  " + $0 }
        }
        let wrong = userProblems.count
        lines.append("")
        lines.append(
            Self.margin
                + (wrong == 0
                    ? "All \(users.count) users have exactly what their purchases grant, and "
                        + "nobody else has anything."
                    : "\(Quantity.counted(wrong, "user")) of \(users.count) have other than what "
                        + "their purchases grant."))
        return lines
    }

    private func rows(of userID: String) -> [String] {
        var table = TextTable([.init(""), .init(""), .init("")])
        for holding in holdings where holding.userID.text == userID {
            let sandbox = holding.environment == "Production" ? "" : " (\(holding.environment))"
            table.add([holding.key.text + sandbox, holding.span, holding.reason])
        }
        for credit in credits where credit.userID.text == userID {
            let takenBack = credit.takenBack == 0 ? "" : ", \(Quantity.grouped(credit.takenBack)) taken back by refunds"
            table.add([
                credit.currency.text, Quantity.grouped(credit.bought - credit.takenBack),
                "\(Quantity.grouped(credit.bought)) bought\(takenBack)",
            ])
        }
        return table.isEmpty ? ["nothing"] : table.lines()
    }

    private var deadLetters: [String] {
        let (found, expected) = (letters.counts, expectedLetters)
        var table = TextTable([
            .init("reason"), .init("class"), .init("came", .right), .init("expected", .right), .init("sent as"),
        ])
        let classes = Dictionary(letters.reasons.map { ($0.name, $0.deadLetterClass) }) { $1 }
        for reason in Set(found.keys).union(expected.keys).sorted() {
            table.add([
                reason, classes[reason] ?? "", Quantity.grouped(found[reason] ?? 0),
                Quantity.grouped(expected[reason] ?? 0), kinds(of: reason),
            ])
        }
        let count = Quantity.grouped(found.values.reduce(0, +))
        return ["4. Dead letters: \(count), each with its original bytes and why", ""]
            + table.lines(indent: Self.margin.count) + exampleLines
    }

    /// Returns the kinds of bodies that the demo created to be refused for this reason.
    private func kinds(of reason: String) -> String {
        let kinds = Set(items.filter { $0.expectedRefusal?.rawValue == reason }.map(\.kind))
        return DemoKind.allCases.filter(kinds.contains).map(\.rawValue).joined(separator: ", ")
    }

    private static let columnsMax = 92

    /// The example as `dead-letter show` prints it, up to its certificates.
    private var exampleLines: [String] {
        guard let example = letters.example else { return [] }
        let text = LetterDossier(example).text(isRevealing: false)
        let lines = text.split(separator: "\n").prefix { !$0.hasPrefix("certificates:") }
        return ["", Self.margin + "One of them, as 'dead-letter show' begins:", ""]
            + lines.flatMap { line in Self.broken(line).map { Self.margin + $0 } }
    }

    /// Returns a long line in pieces that fit a terminal, broken at blanks if possible.
    private static func broken(_ line: Substring) -> [String] {
        var rest = line
        var pieces: [String] = []
        while !rest.isEmpty {
            let indent = pieces.isEmpty || line.first != " " ? "" : "    "
            var piece = rest.prefix(columnsMax - indent.count)
            if piece.endIndex < rest.endIndex, let blank = piece.lastIndex(of: " "),
                blank > piece.index(piece.startIndex, offsetBy: 20)
            {
                piece = piece[...blank]
            }
            rest = rest[piece.endIndex...]
            while piece.last == " " { piece.removeLast() }
            pieces.append(indent + piece)
        }
        return pieces
    }

    private var verdict: [String] {
        let time = Quantity.span(milliseconds: Int64(duration / .milliseconds(1)))
        guard problems.isEmpty else { return ["The demo FAILED:"] + problems.prefix(20).map { Self.margin + $0 } }
        return [
            "All as it must be: no record lost, none counted twice, nothing granted by a forgery.",
            "From the first body to the last settled record: \(time).",
        ]
    }
}

extension EntitlementDetails.Held {
    /// The span as text: `until 2026-12-01`, `without end`, `ended 2026-11-11`.
    fileprivate var span: String {
        guard let until else { return isActive ? "without end" : "" }
        let day = Timestamp(milliseconds: until.milliseconds).day
        return (isActive ? "until " : "ended ") + day + (isInGrace && isActive ? " (grace)" : "")
    }

    /// The reason as text: `com.example.pro.monthly, purchase 2000000000000012, by account token`.
    fileprivate var reason: String {
        let rule = (ownershipRule ?? "").split(separator: "_").joined(separator: " ")
        return "\(productID ?? ""), purchase \(originalTransactionID)" + (rule.isEmpty ? "" : ", by \(rule)")
    }
}
