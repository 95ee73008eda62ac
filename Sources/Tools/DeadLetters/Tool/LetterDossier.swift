package import AppStore
package import JSON
import Kafka
import OpenSSL
package import Postgres
package import Records
import Settings
package import Store

/// Everything known about one dead letter: the letter, its original, the rule that refused it, the
/// certificates, and its history.
package struct LetterDossier: Sendable {
    package let letter: DeadLetter
    /// Empty after a redaction, even if an earlier copy of the letter still holds it.
    package private(set) var original: DeadLetterOriginal
    /// The reason for which an auditor should distrust the letter.
    ///
    /// `nil` if nothing is known against it.
    package let doubt: String?
    /// The rule; nil for a reason that this version does not know.
    package let guide: RefusalGuide?
    private var contents: UnverifiedContents
    /// The paths of the original's first JWS, and their certificates.
    package private(set) var chains: [(path: String, chain: UnverifiedChain)]
    /// The letter's state by its actions.
    ///
    /// `nil` if no database is configured, or the letter has no actions.
    package var standing: DeadLetterStanding?
    /// The actions on it, the last first; nil if no database is configured.
    package var history: [DeadLetterAction]?

    package init(_ letter: DeadLetter, _ original: DeadLetterOriginal, doubt: String? = nil) {
        self.letter = letter
        self.original = original
        self.doubt = doubt
        guide = RefusalReason(rawValue: letter.reason).map { RefusalGuide($0) }
        contents = UnverifiedContents(of: original.value ?? [])
        let named = letter.identifiers.signedDate
        chains = contents.parts.lazy.compactMap { part in
            let signedDate = part.payload?["signedDate"]?.int64.map { Timestamp(milliseconds: $0) }
            let chain = part.header.flatMap { UnverifiedChain(header: $0, signedDate: signedDate ?? named) }
            return chain.map { (part.text(isRevealing: false), $0) }
        }.prefix(Self.chainsMax).map(\.self)
    }

    /// Maximum chains; each costs up to ten signatures, by keys that a forger may have chosen.
    private static let chainsMax = 10

    /// Maximum actions, more than an auditor reads.
    static let historyMax = 1_000

    package mutating func addHistory(from client: PostgresClient) async throws {
        standing = try await DeadLetterActionTable.standing(of: [letter.id], on: client)[letter.id]
        history = try await DeadLetterActionTable.history(of: letter.id, limit: Self.historyMax, on: client)
        if history?.contains(where: { $0.kind == .redacted }) == true {
            original = .removed
            contents = UnverifiedContents(of: [])
            chains = []
        }
    }

    /// The original for people, in the tool and in the console alike.
    package func rendering(isRevealing: Bool) -> OriginalRendering {
        OriginalRendering(letter, original, contents, isRevealing: isRevealing)
    }

    package var isRedacted: Bool { letter.value == .redacted || original == .removed }

    /// `open`, `replayed (accepted)`, and the like.
    package var stateText: String {
        let state = standing?.state ?? .open
        guard let standing, state == .replayed || standing.isAccepted == false else { return state.rawValue }
        let outcome = standing.isAccepted.map { $0 ? "accepted" : "refused again" } ?? "outcome unknown"
        return "\(state.rawValue) (\(outcome))"
    }
}

extension LetterDossier {
    /// The text below the letter itself, for people.
    package var text: String { ruleText + chains.map(Self.text).joined() + historyText }

    private var ruleText: String {
        guard let guide else { return "" }
        return "\nThe rule\n  \(guide.rule)\n  \(letter.reason): \(Printable.line(letter.detail))\n"
            + "  \(guide.advice)\n"
    }

    private static func text(_ entry: (path: String, chain: UnverifiedChain)) -> String {
        var text = "\nCertificates of \(Printable.line(entry.path)), unverified\n"
        if let problem = entry.chain.problem { text += "  WRONG: \(problem)\n" }
        for reading in entry.chain.readings {
            text += "  \(reading.role)\n"
            for (label, value) in facts(reading) {
                let blanks = String(repeating: " ", count: max(1, 12 - label.count))
                text += "    \(label)\(blanks)\(Printable.line(value, lengthMax: 400))\n"
            }
            text += reading.findings.map { "    WRONG: \(Printable.line($0))\n" }.joined()
        }
        return text
    }

    /// A certificate's facts, label by label.
    package static func facts(_ reading: UnverifiedChain.Reading) -> [(String, String)] {
        guard let certificate = reading.certificate else { return [] }
        let validity = certificate.validity
        return [
            ("subject", certificate.subject), ("issuer", certificate.issuer), ("serial", certificate.serialNumber),
            (
                "valid",
                "\(Timestamp(milliseconds: validity.lowerBound * 1000)) to "
                    + "\(Timestamp(milliseconds: validity.upperBound * 1000))"
            ), ("purposes", reading.purposes.joined(separator: ", ")), ("SHA-256", certificate.fingerprint.hex),
        ]
    }

    private var historyText: String {
        guard let history else { return "" }
        return "\nState: \(stateText)\n" + history.map { "  " + Self.line(of: $0) + "\n" }.joined()
    }

    static func line(of action: DeadLetterAction) -> String {
        var line = "\(action.at)  \(action.kind.rawValue) by \(action.who)"
        if let replay = action.replay { line += ", replay \(replay)" }
        if let why = action.why { line += ": \(why)" }
        if let detail = action.detail { line += " (\(detail))" }
        return Printable.line(line)
    }
}

extension LetterDossier {
    /// The same for other programs.
    ///
    /// - Parameter isRevealing: with the whole original, in base64; otherwise its JWS decoded,
    ///   without what could be used again or names an account.
    package func json(isRevealing: Bool) -> JSONContent {
        letter.json + [
            "doubt": doubt, "state": history.map { _ in stateText }, "history": history, "rule": guide?.rule,
            "advice": guide?.advice, "certificates": chains.map(Self.json),
            "original": isRevealing ? original.json : nil, "decoded": isRevealing ? nil : decoded,
        ]
    }

    private var decoded: [JSONContent] {
        rendering(isRevealing: false).parts.map { part in
            [
                "path": part.path, "problem": part.problem,
                "header": part.header.map { JSONContent.raw(Array($0.utf8)) },
                "payload": part.payload.map { JSONContent.raw(Array($0.utf8)) },
            ]
        }
    }

    private static func json(_ entry: (path: String, chain: UnverifiedChain)) -> JSONContent {
        let chain = entry.chain.readings.map { reading -> JSONContent in
            let certificate = reading.certificate
            let validity = certificate?.validity
            return [
                "role": reading.role, "subject": certificate?.subject, "issuer": certificate?.issuer,
                "serial": certificate?.serialNumber,
                "not_before": validity.map { Timestamp(milliseconds: $0.lowerBound * 1000) },
                "not_after": validity.map { Timestamp(milliseconds: $0.upperBound * 1000) },
                "purposes": reading.purposes, "sha256": certificate?.fingerprint.hex, "findings": reading.findings,
            ]
        }
        return ["path": entry.path, "problem": entry.chain.problem, "chain": chain]
    }
}

extension DeadLetterAction: JSONRepresentable {
    package var json: JSONContent {
        [
            "number": number, "at": at, "action": kind.rawValue, "who": who, "database_user": databaseUser,
            "replay": replay, "why": why, "detail": detail,
        ]
    }
}
