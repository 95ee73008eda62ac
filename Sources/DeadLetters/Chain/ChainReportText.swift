import JSON
import OpenSSL
import Records
import Settings

/// The report of a walk over the chains as text.
enum ChainReportText {
    private static let findingsShownMax = ChainReport.comparedMax

    /// Prints the table of the chains and the findings.
    static func print(_ report: ChainReport, isWide: Bool, _ console: Console) -> Int32 {
        var table = TextTable([
            .init("chain"), .init("letters", .right), .init("copies", .right, rank: 3),
            .init("superseded", .right, rank: 4), .init("not committed", .right, rank: 2),
            .init("begins with", rank: 1), .init("last link", rank: 5),
        ])
        for chain in report.chains {
            let first = chain.first.map { "offset \($0.sourceOffset)" } ?? "-"
            table.add([
                Printable.line(chain.name.description, lengthMax: 80), String(chain.letters),
                String(chain.repeated), String(chain.superseded), String(chain.uncommitted),
                first + (chain.isCut ? ", cut by retention" : ""),
                chain.last.map { String($0.digest.hex.prefix(16)) } ?? "-",
            ])
        }
        if !table.isEmpty {
            console.print(table, isWide: isWide)
        }
        let letters = report.chains.reduce(0) { $0 + $1.letters }
        console.print(
            report.isIntact
                ? "\(letters) dead letters in \(report.chains.count) chains: nothing is missing, "
                    + "altered or inserted."
                : "\(letters) dead letters in \(report.chains.count) chains: "
                    + "\(report.findings.count) findings.",
            isBad: !report.isIntact
        )
        return note(report, console)
    }

    /// Prints the findings without the table; returns the exit code.
    static func note(_ report: ChainReport, _ console: Console) -> Int32 {
        for text in report.notes {
            console.note("note: " + Printable.line(text, lengthMax: 300))
        }
        for finding in report.findings.prefix(findingsShownMax) {
            console.note(Printable.line(finding.description, lengthMax: 800))
        }
        let more = report.findings.count - findingsShownMax
        if more > 0 {
            console.note("and \(more) more findings: --json shows all")
        }
        return report.isIntact ? ExitCode.success : ExitCode.negative
    }

    static func json(_ report: ChainReport) -> [UInt8] {
        var writer = JSONWriter(reserving: 4096)
        writer.object { writer in
            writer.key("intact")
            writer.bool(report.isIntact)
            writer.key("chains")
            writer.array { writer in
                for chain in report.chains {
                    writer.object { write(chain, &$0) }
                }
            }
            writer.key("findings")
            writer.array { writer in
                for finding in report.findings {
                    writer.object { writer in
                        writer.key("kind")
                        writer.string(finding.kind)
                        writer.key("text")
                        writer.string(finding.description)
                    }
                }
            }
            writer.key("notes")
            writer.array { writer in
                report.notes.forEach { writer.string($0) }
            }
        }
        return writer.bytes
    }

    private static func write(_ chain: ChainSummary, _ writer: inout JSONWriter) {
        writer.members(of: chain.name)
        let counts: [(StaticString, Int)] = [
            ("letters", chain.letters), ("copies", chain.repeated),
            ("superseded", chain.superseded), ("not_committed", chain.uncommitted),
        ]
        for (name, count) in counts {
            writer.key(name)
            writer.int(count)
        }
        writer.key("is_cut")
        writer.bool(chain.isCut)
        writer.optionalString("first_link", chain.first?.digest.hex)
        writer.optionalString("last_link", chain.last?.digest.hex)
    }
}
