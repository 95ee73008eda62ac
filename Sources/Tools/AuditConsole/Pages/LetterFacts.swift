import AppStore
import Commands
import DeadLetters
import HTTP
import JSON
import Kafka
import Records
import Store

/// The facts of a dead letter besides the original.
enum LetterFacts {
    static func write(_ row: DeadLetterRow, to html: inout HTML) {
        html.element("h2", text: "Facts")
        html.element("dl", [.class("facts")]) { html in
            failure(&html, row)
            positions(&html, row)
            versions(&html, row)
        }
        html.element("h2", text: "What the original says of itself")
        html.element("p", [.class("hint")], text: "For search alone: nobody vouches for it.")
        html.element("dl", [.class("facts")]) { unverified(&$0, row.identifiers) }
    }

    private static func failure(_ html: inout HTML, _ row: DeadLetterRow) {
        html.fact("Failed") { html in
            html.time(row.failedAt)
            html.text(" in stage ")
            html.foreign(row.stage, bytesMax: 60)
            html.text(", attempt \(row.attempt), by ")
            html.foreign(row.worker, bytesMax: 120)
        }
        html.fact("Group") { html in html.link(row.groupID, to: LocalLink("groups", row.groupID), class: "mono") }
        if row.copies > 1 { html.fact("Copies") { $0.text("written \(row.copies) times; the newest counts") } }
        if let former = row.replayOf { html.fact("Replayed from") { $0.letter(former) } }
    }

    private static func positions(_ html: inout HTML, _ row: DeadLetterRow) {
        html.fact("Source record") { html in
            html.element("code", [HTML.Attribute("data-copy", "source")]) {
                $0.foreign(row.source.position.description)
            }
            if let at = row.source.at {
                html.text(" of ")
                html.time(at)
            }
        }
        if let raw = row.raw { html.fact("Body") { html in html.element("code") { $0.foreign(raw.description) } } }
        html.fact("Source SHA-256") { html in
            html.element("code", [HTML.Attribute("data-copy", "SHA-256")]) {
                $0.foreign(row.source.sha256, bytesMax: 128)
            }
        }
        html.fact("Letter") { $0.text("partition \(row.letterPartition), offset \(row.letterOffset)") }
        html.fact("Producer") { $0.optional(row.producer) }
        if row.valueState == "omitted" { html.fact("Left out") { $0.text("the value, for its size") } }
        if let omitted = row.omitted {
            html.fact("Left out") { html in
                html.text("the original's ")
                html.foreign(omitted, bytesMax: 60)
                html.text(", for its size")
            }
        }
    }

    private static func versions(_ html: inout HTML, _ row: DeadLetterRow) {
        html.fact("Verifier") { $0.foreign(row.verifierVersion, bytesMax: 120) }
        html.fact("Settings") { html in html.element("code") { $0.foreign(row.configurationSHA256, bytesMax: 128) } }
        html.fact("Chain link") { html in html.element("code") { $0.optional(row.chainSHA256, bytesMax: 128) } }
    }

    private static func unverified(_ html: inout HTML, _ identifiers: UnverifiedIdentifiers) {
        let texts = [
            ("Transaction", "transaction", identifiers.transactionID),
            ("Original transaction", "transaction", identifiers.originalTransactionID),
            ("Bundle ID", "bundle", identifiers.bundleID), ("Environment", "environment", identifiers.environment),
            ("Product", "product", identifiers.productID),
        ]
        for (label, filter, text) in texts {
            html.fact(label) { html in
                guard let text else { return html.optional(nil) }
                let link = LocalLink("search", query: [HTTPItem(filter, text)])
                html.element("a", [.href(link)]) { $0.foreign(text, bytesMax: 255) }
            }
        }
        html.fact("Signed") { html in
            if let date = identifiers.signedDate { html.time(date) } else { html.optional(nil) }
        }
    }
}

/// The refused record itself: headers, key, value, and its decoded tokens.
struct OriginalContents {
    let original: OriginalRendering
    let isRevealing: Bool

    func write(to html: inout HTML) {
        html.element("h2", text: "The original's headers")
        if !isRevealing {
            html.element(
                "p", [.class("hint")], text: "Shown is what is known to be harmless; of everything else the size.")
        }
        headers(&html)
        html.element("h2", text: "The original's key")
        content(&html, original.key, label: "The key's bytes")
        html.element("h2", text: "The original's value")
        content(&html, original.value, label: "The value's bytes")
        guard !original.parts.isEmpty || original.partsNote != nil else { return }
        html.element("h2", text: "Decoded, unverified")
        for (index, part) in original.parts.enumerated() {
            html.element("h3") { $0.foreign(part.path) }
            if let problem = part.problem { html.element("p", [.class("soft")], text: "Not decoded: \(problem)") }
            let (header, payload) = ("Header \(index + 1)", "Payload \(index + 1)")
            if let text = part.header { block(&html, text, label: header) }
            if let text = part.payload { block(&html, text, label: payload) }
        }
        if let note = original.partsNote { html.element("p", [.class("cut")], text: note) }
    }

    private func headers(_ html: inout HTML) {
        if original.headers.isEmpty, original.headersNote == nil {
            let text = original.headersAreOmitted ? "Left out for their size." : "None."
            html.element("p", [.class("soft")], text: text)
        }
        if !original.headers.isEmpty {
            html.table(
                Quantity.counted(original.headers.count, "header"), original.headers,
                [
                    .row("Name") { $0.foreign($1.name) }, .foreign("Value", "wide", bytesMax: .max, \.value),
                    .number("Bytes") { Int64($0.bytes ?? 0) },
                ])
        }
        if let note = original.headersNote { html.element("p", [.class("cut")], text: note) }
    }

    private func content(_ html: inout HTML, _ content: OriginalRendering.Content, label: String) {
        html.element("p", [.class("hint")], text: content.note)
        if let text = content.text { block(&html, text, label: label) }
    }

    private func block(_ html: inout HTML, _ text: String, label: String) {
        let attributes: [HTML.Attribute] = [
            HTML.Attribute("tabindex", "0"), HTML.Attribute("role", "region"), .label(label),
            HTML.Attribute("dir", "ltr"),
        ]
        html.element("pre", attributes) { html in
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            for (index, line) in lines.enumerated() {
                html.lines(index > 0 ? "\n\(line)" : String(line))
                guard let date = Self.date(line) else { continue }
                let attributes: [HTML.Attribute] = [.class("beside"), HTML.Attribute("datetime", date.description)]
                html.element("time", attributes, text: HTML.utc(date))
            }
        }
    }

    /// The date that a line of JSON has in milliseconds, by the name of its member.
    private static func date(_ line: Substring) -> Timestamp? {
        guard line.utf8.count < 200 else { return nil }
        let match = line.wholeMatch(of: /\s*"\w*(?:[dD]ate|[tT]imestamp)": (\d{10,14}),?/)
        return match.flatMap { Int64($0.1) }.flatMap { Timestamp(boundedMilliseconds: $0) }
    }
}
