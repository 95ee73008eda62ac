package import AppStore
import Records
package import Store

/// The dead letters to send again.
package struct ReplaySelection: Equatable, Sendable {
    package var query: DeadLetterQuery
    /// The selection in words, as the history shows it.
    package var text: String
    /// Whether resolved and suppressed letters are included if they are named by their IDs.
    package var includesResolved = false
    /// Whether letters are included that an earlier replay sent and that were accepted, or refused as new letters.
    package var again = false
    /// Maximum number of letters; the oldest that can be sent are taken.
    ///
    /// `nil` for all letters.
    package var first: Int?

    package init(_ query: DeadLetterQuery, text: String) {
        self.query = query
        self.text = text
    }
}

/// The result of a replay's dry run; nothing is recorded yet.
package struct ReplayPlan: Sendable {
    /// A selected letter, and the verdict of today's program.
    package struct Letter: Sendable {
        package let row: DeadLetterRow
        package let verdict: ReplayVerdict

        var isSendable: Bool { if case .unsendable = verdict { false } else { true } }
    }

    /// The reason why a letter is left out.
    package enum Skipped: Hashable, Sendable {
        case resolved
        case suppressed
        case accepted(replay: Int64)
        /// Another replay holds the letter.
        case held(replay: Int64)
        /// The letter was refused again, and the new letter replaces it.
        case refused(as: String)
        case unknown

        /// The name in snake case.
        package var name: String {
            switch self {
            case .resolved: "resolved"
            case .suppressed: "suppressed"
            case .accepted: "accepted_before"
            case .held: "held"
            case .refused: "refused_again"
            case .unknown: "not_indexed"
            }
        }

        /// An explanation for the operator.
        package var detail: String {
            switch self {
            case .resolved, .suppressed: "left out unless it is named by its ID, with --include-resolved"
            case .accepted(let replay): "replay \(replay) sent it and it was accepted; see --again"
            case .held(let replay): "replay \(replay) holds it: wait for it, or continue or abandon it"
            case .refused(let letter): "it was refused again as \(letter), which stands for it"
            case .unknown: "the index does not know it"
            }
        }
    }

    package let selection: ReplaySelection
    /// The selected letters, including those that cannot be sent, the oldest first.
    package let letters: [Letter]
    package let skipped: [(id: String, why: Skipped)]
    /// A note on the verdicts for the operator.
    ///
    /// `nil` without a note.
    package let note: String?

    package var count: Int { letters.count }
    package var topics: [String: Int] { counts(\.row.source.position.topic) }
    package var reasons: [String: Int] { counts(\.row.reason) }
    package var verdicts: [String: Int] { counts(\.verdict.name) }

    /// Letters that are not sent because no verified chain holds them.
    package var onNoChainCount: Int { unsendable(.onNoChain) }
    /// Letters that are not sent because they differ from their source record.
    package var differingCount: Int { unsendable(.differs) }

    private func unsendable(_ cause: Unsendable.Cause) -> Int {
        letters.count { letter in if case .unsendable(let why) = letter.verdict { why.cause == cause } else { false } }
    }

    package var skippedCounts: [String: Int] { skipped.reduce(into: [:]) { $0[$1.why.name, default: 0] += 1 } }

    package var oldest: Timestamp? { letters.first?.row.failedAt }
    package var newest: Timestamp? { letters.last?.row.failedAt }

    /// Whether today's verifier refuses every letter that would be sent.
    package var isHopeless: Bool {
        let sendable = letters.filter(\.isSendable)
        return !sendable.isEmpty && sendable.allSatisfy { if case .refused = $0.verdict { true } else { false } }
    }

    /// Whether no letter is known to be refused or unsendable.
    package var isClean: Bool {
        letters.allSatisfy { letter in
            switch letter.verdict {
            case .refused, .unsendable: false
            case .accepted, .ignored, .worker, .unasked: true
            }
        }
    }

    private func counts(_ name: KeyPath<Letter, String>) -> [String: Int] {
        letters.reduce(into: [:]) { $0[$1[keyPath: name], default: 0] += 1 }
    }

    /// Maximum letters of one replay.
    package static let lettersMax = 100_000
}
