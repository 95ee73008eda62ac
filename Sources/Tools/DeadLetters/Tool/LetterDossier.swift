import AppStore
package import JSON
import Kafka
import OpenSSL
package import Records
import Commands
import Settings
import Store

/// Everything known about one dead letter: its facts, the rule that refused it, its original and its certificates.
///
/// The facts come from the index, or with the same members from the letter's record.
package struct LetterDossier: Sendable {
    /// The certificates of a JWS, or of several JWS with the same certificates.
    private struct Chain {
        var paths: [String]
        let problem: String?
        /// The certificates, each with the faults found under any of the paths.
        var certificates: [(reading: UnverifiedChain.Reading, faults: [Fault])]

        var fingerprints: [String?] { certificates.map { $0.reading.certificate?.fingerprint.hex } }
    }

    package let facts: JSONContent
    /// The parts that the letter lacks because of their size.
    private let omitted: Set<String>
    /// The original.
    ///
    /// `nil` if it was redacted, even if an earlier copy of the letter still holds it, or if the
    /// topic no longer holds the letter.
    package let original: DeadLetterOriginal?
    private let contents: UnverifiedContents
    private var chains: [Chain] = []

    /// - Parameters:
    ///   - facts: the letter's members, from the SQL function `dead_letter` or from `DeadLetterRow`.
    ///   - held: the letter in its topic; `nil` if the topic no longer holds it.
    package init(_ facts: JSONContent, _ held: DeadLetterTopic.Held?) {
        let isRedacted = held?.letter.value == .redacted || facts["is_redacted"].isTrue
        let whole = isRedacted ? nil : held
        original = whole.map { DeadLetterOriginal($0.record) }
        omitted = Set(
            (whole?.letter.omitted?.split(separator: ",").map(String.init) ?? [])
                + (whole?.letter.value == .omitted ? ["value"] : []))
        contents = UnverifiedContents(of: original?.value ?? [])
        let doubt = facts["doubt"].text ?? held.flatMap { ChainLetter($0.letter, $0.record)?.problem?.text }
        self.facts = facts.replacing("doubt", by: doubt).replacing(
            "chain", by: whole.flatMap { Self.chain(of: $0.letter) } ?? facts["chain"])
        let named = whole?.letter.identifiers.signedDate
        let read = contents.parts.lazy.compactMap { part -> (String, UnverifiedChain)? in
            let signedDate = part.payload?["signedDate"]?.int64.map { Timestamp(milliseconds: $0) }
            let chain = part.header.flatMap { UnverifiedChain(header: $0, signedDate: signedDate ?? named) }
            return chain.map { (part.text(isRevealing: false), $0) }
        }
        for (path, chain) in read.prefix(Self.chainsMax) { add(chain, at: path) }
    }

    /// The dossier of a letter from the topic alone.
    package init(_ held: DeadLetterTopic.Held) {
        self.init(DeadLetterRow(held.letter, held.record).json(topic: held.letter.position.topic), held)
    }

    /// Maximum chains; checking one takes up to ten signatures, by keys that a forger may have chosen.
    private static let chainsMax = 10

    /// The chain in the letter's header, with the dates of validity.
    ///
    /// `nil` if that is not JSON.
    private static func chain(of letter: DeadLetter) -> JSONContent? {
        letter.chain.flatMap { try? JSONDocument(parsing: Array($0.utf8)) }.map { JSONContent($0.root) }
    }

    private mutating func add(_ chain: UnverifiedChain, at path: String) {
        let new = Chain(paths: [path], problem: chain.problem, certificates: chain.readings.map { ($0, $0.faults) })
        // A chain with an unreadable certificate is never merged into another one.
        let same = chains.firstIndex { $0.fingerprints == new.fingerprints && !new.fingerprints.contains(nil) }
        guard let same else { return chains.append(new) }
        chains[same].paths.append(path)
        for (index, reading) in chain.readings.enumerated() {
            let known = chains[same].certificates[index].faults
            chains[same].certificates[index].faults += reading.faults.filter { !known.contains($0) }
        }
    }

    package var isRedacted: Bool {
        original == nil && (facts["is_redacted"].isTrue || facts["value"].text == "redacted")
    }
}

extension JSONContent { fileprivate var isTrue: Bool { if case .bool(true) = self { true } else { false } } }

extension LetterDossier {
    /// The answer about the letter, for programs, pages and terminals.
    ///
    /// - Parameter isRevealing: whether to include the whole original, instead of what `Disclosure` lists.
    package func json(isRevealing: Bool) -> JSONContent {
        let guide = facts["reason"].text.flatMap(RefusalReason.init).map { RefusalGuide($0) }
        let rendering = OriginalRendering(isRevealing: isRevealing, omitted: omitted)
        let more: JSONContent = [
            "rule": guide?.rule, "advice": guide?.advice, "certificates": certificates, "history": facts["history"],
            "shown": original.map { rendering.shown($0, contents) },
            "decoded": original.map { _ in rendering.decoded(contents) },
            "original": isRevealing ? original?.json : nil,
        ]
        return facts.without("history") + more
    }

    /// The reason whose faults led to the refusal.
    ///
    /// An invalid chain without a fault of its own has an untrusted root, which only bears the name
    /// of a configured one.
    private var cause: RefusalReason? {
        let reason = facts["reason"].text.flatMap(RefusalReason.init)
        let isNamed = chains.contains { $0.certificates.contains { $0.faults.contains { $0.reason == reason } } }
        return reason == .chainInvalid && !isNamed ? .rootUntrusted : reason
    }

    private var certificates: [JSONContent] {
        let cause = cause
        /// The faults that led to the refusal, and the others.
        func findings(_ faults: [Fault]) -> JSONContent {
            func texts(_ isCause: Bool) -> [String]? {
                let found = faults.filter { ($0.reason == cause) == isCause }.map(\.detail)
                return found.isEmpty ? nil : found
            }
            return ["wrong": texts(true), "also_wrong": texts(false)]
        }
        return chains.map { chain in
            let parts = chain.certificates.map { reading, faults -> JSONContent in
                let certificate = reading.certificate
                let validity = certificate?.validity
                return ["role": reading.role] + findings(faults) + [
                    "subject": certificate?.subject, "issuer": certificate?.issuer, "serial": certificate?.serialNumber,
                    "not_before": validity.map { Timestamp(milliseconds: $0.lowerBound * 1000) },
                    "not_after": validity.map { Timestamp(milliseconds: $0.upperBound * 1000) },
                    "purposes": reading.purposes, "sha256": certificate?.fingerprint.hex,
                ]
            }
            return ["paths": chain.paths] + findings(chain.problem.map { [Fault(.x5cLength, $0)] } ?? []) + [
                "chain": parts
            ]
        }
    }
}

extension LetterDossier {
    /// The answer for people: the facts, then the parts of the original in blocks.
    package func text(isRevealing: Bool) -> String {
        let answer = json(isRevealing: isRevealing)
        let facts = answer.without("shown", "decoded", "original", certificates.isEmpty ? "" : "chain")
        var text = facts.lines.map { Printable.line($0, lengthMax: Self.lineCharactersMax) + "\n" }.joined()
        let shown = answer["shown"]
        guard !shown.isNull else { return text }
        text += "\nThe original's headers\n"
        for header in shown["headers"].elements {
            text += "  \(Printable.line(header["name"].text ?? "")): \(Printable.line(header["value"].text ?? ""))\n"
        }
        if let note = shown["more_headers"].text { text += "  \(note)\n" }
        for part in ["key", "value"] {
            text += "\nThe original's \(part) (\(shown[part]["note"].text ?? ""))\n"
            if let content = shown[part]["text"].text { text += content + "\n" }
        }
        for part in answer["decoded"].elements {
            text += "\nDecoded, unverified: \(part["path"].text ?? "")\n"
            if let problem = part["problem"].text { text += "not decoded: \(problem)\n" }
            for name in ["header", "payload"] where !part[name].isNull {
                text += "\(name) \(String(decoding: part[name].bytes, as: UTF8.self))\n"
            }
        }
        return text
    }

    /// Maximum characters of a line; no fact of a letter that a worker wrote is longer.
    private static let lineCharactersMax = 4_000
}
