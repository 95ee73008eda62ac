import Commands
import JSON
import OpenSSL
import Records
import Settings

/// The report of a walk over the chains as text.
enum ChainReportText {
    private static let findingsShownMax = ChainReport.comparedMax

    /// Prints the table of the chains and the findings.
    static func print(_ report: ChainReport, isWide: Bool, _ console: Console) -> Int32 {
        if !report.chains.isEmpty { console.print(TextTable(report.chains, columns), isWide: isWide) }
        let letters = report.chains.reduce(0) { $0 + $1.letters }
        console.print(
            report.isIntact
                ? "\(letters) dead letters in \(report.chains.count) chains: nothing is missing, "
                    + "altered or inserted."
                : "\(letters) dead letters in \(report.chains.count) chains: \(report.findings.count) findings.",
            isBad: !report.isIntact)
        return note(report, console)
    }

    /// Prints the findings without the table; returns the exit code.
    static func note(_ report: ChainReport, _ console: Console) -> Int32 {
        for text in report.notes { console.note("note: " + Printable.line(text, lengthMax: 300)) }
        for finding in report.findings.prefix(findingsShownMax) {
            console.note(Printable.line(finding.description, lengthMax: 800))
        }
        let more = report.findings.count - findingsShownMax
        if more > 0 { console.note("and \(more) more findings: --json shows all") }
        return ExitCode.answer(report.isIntact)
    }

    static func json(_ report: ChainReport) -> JSONContent {
        let findings = report.findings.map { finding -> JSONContent in
            ["kind": finding.kind, "text": finding.description]
        }
        return [
            "is_intact": report.isIntact, "chains": report.chains.map { JSONContent($0, columns) },
            "findings": findings, "notes": Array(report.notes),
        ]
    }

    private static let columns: [ReportColumn<ChainSummary>] = [
        .words("chain", lengthMax: 80, \.name.description), .member("stage", \.name.stage),
        .member("source_topic", \.name.topic), .member("source_partition", \.name.partition),
        .init("letters", \.letters), .init("copies", rank: 3, \.repeated), .init("superseded", rank: 4, \.superseded),
        .init("not_committed", rank: 2, \.uncommitted),
        .words("begins with", rank: 1) { chain in
            (chain.first.map { "offset \($0.sourceOffset)" } ?? "-") + (chain.isCut ? ", cut by retention" : "")
        }, .member("is_cut", \.isCut), .member("first_link", \.first?.digest.hex),
        .init("last_link", rank: 5, lengthMax: 16, \.last?.digest.hex),
    ]
}
