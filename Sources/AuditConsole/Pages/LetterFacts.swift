import AppStore
import DeadLetters
import HTTP
import JSON
import Kafka
import Records
import Store

/// What is known of a dead letter besides the original.
enum LetterFacts {
    static func write(_ row: DeadLetterRow, _ letter: DeadLetter?, to html: inout HTML) {
        html.element("h2", text: "Facts")
        html.element("dl", [.class("facts")]) { html in
            failure(&html, row)
            positions(&html, row)
            versions(&html, row)
        }
        html.element("h2", text: "What the original says of itself")
        html.element(
            "p",
            [.class("hint")],
            text: "For search alone: nobody vouches for it."
        )
        html.element("dl", [.class("facts")]) { unverified(&$0, row.identifiers) }
        certificates(&html, row, letter?.chain)
    }

    private static func failure(_ html: inout HTML, _ row: DeadLetterRow) {
        html.fact("Failed (UTC)") { html in
            html.time(row.failedAt)
            html.text(" in stage ")
            html.foreign(row.stage, bytesMax: 60)
            html.text(", attempt \(row.attempt), by ")
            html.foreign(row.worker, bytesMax: 120)
        }
        html.fact("Group") { html in
            let link = LocalLink("search", query: [HTTPItem("group", row.groupID)])
            html.element("a", [.class("mono"), .href(link)], text: row.groupID)
        }
        if row.copies > 1 {
            html.fact("Copies") { $0.text("written \(row.copies) times; the newest counts") }
        }
        if let former = row.replayOf {
            html.fact("Replayed from") { $0.letter(former) }
        }
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
        if let raw = row.raw {
            html.fact("Body") { html in html.element("code") { $0.foreign(raw.description) } }
        }
        html.fact("Source SHA-256") { html in
            html.element("code", [HTML.Attribute("data-copy", "SHA-256")]) {
                $0.foreign(row.source.sha256, bytesMax: 128)
            }
        }
        html.fact("Letter") {
            $0.text("partition \(row.letterPartition), offset \(row.letterOffset)")
        }
        html.fact("Producer") { $0.optional(row.producer) }
        if row.valueState == "omitted" {
            html.fact("Left out") { $0.text("the value, for its size") }
        }
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
        html.fact("Settings") { html in
            html.element("code") { $0.foreign(row.configurationSHA256, bytesMax: 128) }
        }
        html.fact("Chain link") { html in
            html.element("code") { $0.optional(row.chainSHA256, bytesMax: 128) }
        }
    }

    private static func unverified(_ html: inout HTML, _ identifiers: UnverifiedIdentifiers) {
        let texts = [
            ("Transaction", "transaction", identifiers.transactionID),
            ("Original transaction", "transaction", identifiers.originalTransactionID),
            ("Bundle ID", "bundle", identifiers.bundleID),
            ("Environment", "environment", identifiers.environment),
            ("Product", "product", identifiers.productID),
        ]
        for (label, filter, text) in texts {
            html.fact(label) { html in
                guard let text else { return html.optional(nil) }
                let link = LocalLink("search", query: [HTTPItem(filter, text)])
                html.element("a", [.href(link)]) { $0.foreign(text, bytesMax: 255) }
            }
        }
        html.fact("Signed (UTC)") { html in
            if let date = identifiers.signedDate { html.time(date) } else { html.optional(nil) }
        }
    }

    private static func certificates(
        _ html: inout HTML,
        _ row: DeadLetterRow,
        _ chain: String?
    ) {
        let fingerprints = [
            ("leaf", row.certificates.leaf), ("intermediate", row.certificates.intermediate),
            ("root", row.certificates.root),
        ].compactMap { role, text in text.map { (role, $0) } }
        guard !fingerprints.isEmpty else { return }
        let validity = chain.flatMap { try? JSONDocument(parsing: Array($0.utf8)) }
        html.element("h2", text: "Certificates")
        html.table(
            "The chain as it came, whether it is good or not",
            [.text("Certificate"), .text("SHA-256"), .text("Valid from"), .text("Valid until")]
        ) { html in
            for (role, fingerprint) in fingerprints {
                let dates = validity?.root[role]
                html.element("tr") { html in
                    html.element("th", [HTML.Attribute("scope", "row")], text: role)
                    html.element("td", [.class("mono")]) { html in
                        let link = LocalLink(
                            "search",
                            query: [HTTPItem("certificate", fingerprint)]
                        )
                        html.element("a", [.href(link)]) { $0.foreign(fingerprint, bytesMax: 64) }
                    }
                    for name in ["not_before", "not_after"] {
                        html.element("td") { $0.optional(dates?[name]?.string, bytesMax: 40) }
                    }
                }
            }
        }
    }
}

/// The refused record itself: headers, key, value, and what its tokens hold.
struct OriginalContents {
    let letter: DeadLetter
    let original: DeadLetterOriginal
    let isRevealing: Bool

    private static let headersMax = 200
    private static let headerBytesMax = 4096
    private static let valueBytesMax = 64 << 10

    func write(to html: inout HTML) {
        html.element("h2", text: "The original's headers")
        headers(&html)
        html.element("h2", text: "The original's key")
        bytes(&html, original.key, isOmitted: isOmitted("key"), redacting: false)
        html.element("h2", text: "The original's value")
        if !isRevealing {
            html.element(
                "p",
                [.class("hint")],
                text: "Tokens, signatures, receipts and account tokens are left out."
            )
        }
        bytes(
            &html,
            original.value,
            isOmitted: letter.value == .omitted,
            redacting: !isRevealing
        )
        let decoded = DeadLetterText.decoded(original, isRevealing: isRevealing)
        if !decoded.isEmpty {
            html.element("h2", text: "Decoded, unverified")
            block(&html, decoded, label: "Decoded")
        }
    }

    private func isOmitted(_ part: String) -> Bool {
        letter.omitted?.split(separator: ",").contains { $0 == part } ?? false
    }

    private func headers(_ html: inout HTML) {
        guard !original.headers.isEmpty else {
            let text = isOmitted("headers") ? "Left out for their size." : "None."
            html.element("p", [.class("soft")], text: text)
            return
        }
        html.table(
            "\(Figure.count(original.headers.count)) headers",
            [.text("Name"), .text("Value"), .number("Bytes")]
        ) { html in
            for header in original.headers.prefix(Self.headersMax) {
                html.element("tr") { html in
                    html.element("th", [HTML.Attribute("scope", "row")]) {
                        $0.foreign(header.name, bytesMax: 255)
                    }
                    html.element("td", [.class("wide")]) { html in
                        guard let value = header.value else {
                            return html.element("span", [.class("soft")], text: "null")
                        }
                        let text = String(validating: value, as: UTF8.self)
                        let shown = text ?? BinaryText.body(value)
                        html.foreign(shown, bytesMax: Self.headerBytesMax)
                    }
                    html.number(header.value?.count ?? 0)
                }
            }
        }
        let rest = original.headers.count - Self.headersMax
        if rest > 0 {
            html.element("p", [.class("cut")], text: "\(Figure.count(rest)) more headers not shown")
        }
    }

    private func bytes(
        _ html: inout HTML,
        _ bytes: [UInt8]?,
        isOmitted: Bool,
        redacting: Bool
    ) {
        guard !isOmitted else {
            let text = "Left out for its size: it lies in \(letter.source)."
            return html.element("p", [.class("soft")], text: text)
        }
        guard let bytes else { return html.element("p", [.class("soft")], text: "null") }
        guard !bytes.isEmpty else { return html.element("p", [.class("soft")], text: "empty") }
        // Text that a terminal could obey harms no page: it is shown as text, with marks.
        let isText = String(validating: bytes, as: UTF8.self) != nil
        html.element(
            "p",
            [.class("hint")],
            text: "\(Figure.count(bytes.count)) bytes, \(isText ? "text" : BinaryText.form(bytes))"
        )
        let shown =
            isText
            ? String(decoding: redacting ? Redaction.text(bytes) : bytes, as: UTF8.self)
            : redacting ? BinaryText.redacted(bytes) : BinaryText.body(bytes)
        block(&html, shown, label: "Bytes")
    }

    private func block(_ html: inout HTML, _ text: String, label: String) {
        let shown = HTML.beginning(text, Self.valueBytesMax)
        let attributes: [HTML.Attribute] = [
            HTML.Attribute("tabindex", "0"), HTML.Attribute("role", "region"), .label(label),
            HTML.Attribute("dir", "ltr"),
        ]
        html.element("pre", attributes) { $0.lines(shown) }
        let rest = text.utf8.count - shown.utf8.count
        if rest > 0 {
            html.element("p", [.class("cut")], text: "\(Figure.count(rest)) more bytes not shown")
        }
    }
}
