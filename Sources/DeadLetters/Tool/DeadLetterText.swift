import AppStore
import Foundation
import JSON
import Kafka
package import Records
import Settings

/// A dead letter for people.
package enum DeadLetterText {
    /// - Parameters:
    ///   - valueCharactersMax: of a longer value the middle is left out.
    ///   - isRevealing: shows tokens, receipts and the tokens of accounts too.
    package static func whole(
        _ letter: DeadLetter,
        _ original: DeadLetterOriginal,
        valueCharactersMax: Int = .max,
        isRevealing: Bool = false
    ) -> String {
        var text = "Dead letter \(Printable.line(letter.id))\n"
        for (label, value) in facts(letter) {
            let blanks = String(repeating: " ", count: max(1, labelWidth - label.count))
            text += "  \(label)\(blanks)\(Printable.line(value))\n"
        }
        text += "\nThe original's headers (\(original.headers.count))\n"
        for header in original.headers {
            let isHidden = !isRevealing && Redaction.isSecret(header: header.name)
            let value = header.value.map { isHidden ? hidden($0) : line($0) } ?? "(null)"
            text += "  \(Printable.line(header.name)): \(value)\n"
        }
        text += section("key", original.key, .max, omitted: isOmitted("key", letter))
        text += section(
            "value",
            original.value,
            valueCharactersMax,
            omitted: letter.value == .omitted,
            isRedacted: !isRevealing
        )
        return text
    }

    private static let labelWidth = 13

    private static func hidden(_ value: [UInt8]) -> String {
        "<\(value.count) bytes left out>"
    }

    private static func facts(_ letter: DeadLetter) -> [(String, String)] {
        var facts = [
            ("reason", "\(letter.reason) (\(letter.deadLetterClass))"), ("detail", letter.detail),
            (
                "failed",
                "\(letter.failedAt) in stage \(letter.stage), attempt \(letter.attempt), "
                    + "by \(letter.worker)"
            ),
            ("original", source(letter)), ("SHA-256", letter.sourceSHA256),
        ]
        if let raw = letter.raw {
            facts.append(("body", raw.description))
        }
        facts.append(("letter", letter.position.description))
        if letter.value == .redacted {
            facts.append(("redacted", "the original was removed: see the history"))
        }
        if let omitted = letter.omitted {
            facts.append(("left out", "the original's \(omitted), for its size"))
        }
        facts.append(
            ("verifier", "\(letter.verifierVersion), settings \(letter.configurationSHA256)")
        )
        facts += certificates(letter)
        facts += identifiers(letter.identifiers)
        return facts
    }

    private static func source(_ letter: DeadLetter) -> String {
        let written = letter.sourceTimestamp.map { ", written \($0)" } ?? ""
        return letter.source.description + written
    }

    private static func certificates(_ letter: DeadLetter) -> [(String, String)] {
        guard let chain = letter.chain, let document = try? JSONDocument(parsing: Array(chain.utf8))
        else { return [] }
        return document.root.members.map { key, certificate in
            let from = certificate["not_before"]?.string ?? "?"
            let until = certificate["not_after"]?.string ?? "?"
            let digest = certificate["sha256"]?.string ?? "?"
            return (key.string ?? "?", "\(digest), valid \(from) to \(until)")
        }
    }

    private static func identifiers(
        _ identifiers: UnverifiedIdentifiers
    ) -> [(String, String)] {
        let texts = [
            ("transaction", identifiers.transactionID),
            ("original transaction", identifiers.originalTransactionID),
            ("bundle", identifiers.bundleID), ("environment", identifiers.environment),
            ("product", identifiers.productID),
            ("signed", identifiers.signedDate?.description),
        ].compactMap { label, text in text.map { "\(label) \($0)" } }
        return texts.isEmpty ? [] : [("it says", texts.joined(separator: ", ") + " (unverified)")]
    }

    private static func isOmitted(_ part: String, _ letter: DeadLetter) -> Bool {
        letter.omitted?.split(separator: ",").contains { $0 == part } ?? false
    }

    private static func line(_ bytes: [UInt8]) -> String {
        if let text = Printable.text(bytes) {
            return Printable.line(text)
        }
        return "\(BinaryText.body(bytes)) (\(BinaryText.form(bytes)))"
    }

    private static func section(
        _ part: String,
        _ bytes: [UInt8]?,
        _ charactersMax: Int,
        omitted: Bool,
        isRedacted: Bool = false
    ) -> String {
        if omitted {
            return "\nThe original's \(part): left out for its size\n"
        }
        guard let bytes else { return "\nThe original's \(part): null\n" }
        guard !bytes.isEmpty else { return "\nThe original's \(part): empty\n" }
        let body = isRedacted ? BinaryText.redacted(bytes) : BinaryText.body(bytes)
        return "\nThe original's \(part) (\(bytes.count) bytes, \(BinaryText.form(bytes)))\n"
            + abbreviated(body, charactersMax) + "\n"
    }

    /// The beginning and the end, with the number of characters between them.
    static func abbreviated(_ text: String, _ charactersMax: Int) -> String {
        let leftOut = text.count - charactersMax
        guard leftOut > 0 else { return text }
        let end = text.suffix(charactersMax / 4)
        let beginning = text.prefix(charactersMax - end.count)
        return "\(beginning)\n[… \(leftOut) characters left out …]\n\(end)"
    }
}

extension DeadLetterText {
    /// The tokens and receipts of an original, decoded; empty where there are none.
    package static func decoded(_ original: DeadLetterOriginal, isRevealing: Bool) -> String {
        let contents = UnverifiedContents(of: original.value ?? [])
        var text = ""
        for (index, part) in contents.parts.enumerated() {
            guard text.utf8.count < decodedBytesMax else {
                return text + "\n[… \(contents.parts.count - index) more parts left out …]\n"
            }
            text += decoded(part, isRevealing)
        }
        return text + (contents.isWhole ? "" : "\n[… more parts left out …]\n")
    }

    private static let decodedBytesMax = 256 << 10
    private static let valueCharactersMax = 16 << 10

    private static func decoded(_ part: UnverifiedContents.Part, _ isRevealing: Bool) -> String {
        var text = "\nDecoded, unverified: \(part.path)\n"
        if let problem = part.problem {
            text += "not decoded: \(problem)\n"
        }
        for (label, value) in [("header", part.header), ("payload", part.payload)] {
            guard let value else { continue }
            let json = Redaction.pretty(value, isRevealing: isRevealing)
            text += "\(label) \(abbreviated(json, valueCharactersMax))\n"
        }
        return text
    }
}

/// Bytes as people can read or copy them.
package enum BinaryText {
    /// A word for what `body` gives: `text`, `hex` or `base64`.
    package static func form(_ bytes: [UInt8]) -> String {
        if Printable.text(bytes) != nil {
            return "text"
        }
        return bytes.count <= hexBytesMax ? "hex" : "base64"
    }

    /// Text as it is; a few bytes as hexadecimal digits; more as base64 in lines.
    package static func body(_ bytes: [UInt8]) -> String {
        if let text = Printable.text(bytes) {
            return text
        }
        guard bytes.count > hexBytesMax else {
            return bytes.map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }.joined(separator: " ")
        }
        return Data(bytes).base64EncodedString(options: [
            .lineLength76Characters, .endLineWithLineFeed,
        ])
    }

    /// The same without what could be used again; of bytes that are no text the beginning.
    package static func redacted(_ bytes: [UInt8]) -> String {
        guard Printable.text(bytes) == nil else {
            return String(decoding: Redaction.text(bytes), as: UTF8.self)
        }
        let leftOut = bytes.count - hexBytesMax
        let rest = leftOut > 0 ? "\n[… \(leftOut) bytes left out …]" : ""
        return body(Array(bytes.prefix(hexBytesMax))) + rest
    }

    private static let hexBytesMax = 64
}
