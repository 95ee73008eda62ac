import AppStore
import JSON
package import Records
import Settings

/// A dead letter for people.
package enum DeadLetterText {
    /// The letter's own facts, then the original's headers, key and value.
    package static func whole(_ letter: DeadLetter, _ original: OriginalRendering) -> String {
        var text = "Dead letter \(Printable.line(letter.id, lengthMax: factCharactersMax))\n"
        for (label, value) in facts(letter) {
            let blanks = String(repeating: " ", count: max(1, labelWidth - label.count))
            let line = Printable.line(value, lengthMax: factCharactersMax)
            text += "  \(label)\(blanks)\(line)\n"
        }
        text += "\nThe original's headers\n"
        for header in original.headers { text += "  \(Printable.line(header.name)): \(Printable.line(header.value))\n" }
        if let note = original.headersNote { text += "  \(note)\n" }
        for (part, content) in [("key", original.key), ("value", original.value)] {
            text += "\nThe original's \(part) (\(content.note))\n"
            if let shown = content.text { text += shown + "\n" }
        }
        return text
    }

    private static let labelWidth = 13
    /// Maximum characters of a fact; no fact of a letter that a worker wrote is longer.
    private static let factCharactersMax = 4_000

    /// The tokens and receipts of an original, decoded; empty without any.
    package static func decoded(_ original: OriginalRendering) -> String {
        var text = ""
        for part in original.parts {
            text += "\nDecoded, unverified: \(part.path)\n"
            if let problem = part.problem { text += "not decoded: \(problem)\n" }
            if let header = part.header { text += "header \(header)\n" }
            if let payload = part.payload { text += "payload \(payload)\n" }
        }
        return text + (original.partsNote.map { "\n\($0)\n" } ?? "")
    }

    private static func facts(_ letter: DeadLetter) -> [(String, String)] {
        var facts = [
            ("reason", "\(letter.reason) (\(letter.deadLetterClass))"), ("detail", letter.detail),
            ("failed", "\(letter.failedAt) in stage \(letter.stage), attempt \(letter.attempt), by \(letter.worker)"),
            ("original", source(letter)), ("SHA-256", letter.sourceSHA256),
        ]
        if let raw = letter.raw { facts.append(("body", raw.description)) }
        facts.append(("letter", letter.position.description))
        if letter.value == .redacted { facts.append(("redacted", "the original was removed: see the history")) }
        if let omitted = letter.omitted { facts.append(("left out", "the original's \(omitted), for its size")) }
        facts.append(("verifier", "\(letter.verifierVersion), settings \(letter.configurationSHA256)"))
        facts += certificates(letter)
        facts += identifiers(letter.identifiers)
        return facts
    }

    private static func source(_ letter: DeadLetter) -> String {
        let written = letter.sourceTimestamp.map { ", written \($0)" } ?? ""
        return letter.source.description + written
    }

    private static func certificates(_ letter: DeadLetter) -> [(String, String)] {
        guard let chain = letter.chain, let document = try? JSONDocument(parsing: Array(chain.utf8)) else { return [] }
        return document.root.members.map { key, certificate in
            let from = certificate["not_before"]?.string ?? "?"
            let until = certificate["not_after"]?.string ?? "?"
            let digest = certificate["sha256"]?.string ?? "?"
            return (key.string ?? "?", "\(digest), valid \(from) to \(until)")
        }
    }

    private static func identifiers(_ identifiers: UnverifiedIdentifiers) -> [(String, String)] {
        let texts = [
            ("transaction", identifiers.transactionID), ("original transaction", identifiers.originalTransactionID),
            ("bundle", identifiers.bundleID), ("environment", identifiers.environment),
            ("product", identifiers.productID), ("signed", identifiers.signedDate?.description),
        ].compactMap { label, text in text.map { "\(label) \($0)" } }
        return texts.isEmpty ? [] : [("it says", texts.joined(separator: ", ") + " (unverified)")]
    }
}
