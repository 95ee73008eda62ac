import AppStore
import Commands
import DeadLetters
import Kafka
import OpenSSL
import Records
import Settings
import Store
import Topology

/// The verification of the bodies that Kafka still holds, by the present apps and by planned ones.
///
/// Reads without a consumer group, up to the ends of the topics at the start. A body with a dead letter is taken from
/// the letter, or from `raw` if the letter does not hold it; each counts once. Verified by the rules of `verify-worker`,
/// but no responder is asked for revocation.
struct AppsPlanning {
    let present: VerifierConfiguration
    let planned: VerifierConfiguration
    let reader: TopicReader
    let rawTopic: String
    let letters: DeadLetterTopic
    /// Maximum samples of each change.
    let samplesMax: Int

    enum Step: String {
        case letters = "verifying dead letters"
        case bodies = "verifying bodies"
    }

    /// - Parameter progress: receives a step, the number of offsets read in it, and their total.
    func run(_ progress: (Step, Int64, Int64) -> Void) async throws -> AppsPlanReport {
        guard let held = try await reader.held(rawTopic) else {
            throw CommandError(
                ExitCode.unavailable,
                "there is no topic \(rawTopic), or no right to see it: see --prefix, or create it with "
                    + "'pipeline topics'")
        }
        let comparison = BodyComparison(present: present, planned: planned)
        var report = AppsPlanReport(samplesMax: samplesMax)
        report.removed = held.removed
        var fold = DeadLetterFold<PlannedLetter>()
        _ = try await letters.read(progress: { progress(.letters, $0, $1) }) { letter, record in
            guard letter.source.topic == rawTopic else { return }
            let planned = PlannedLetter(letter, record, judge: { report.kind(of: comparison.compare($0)) })
            var row = DeadLetterRow(letter, record)
            row.id = Self.identity(letter.source, at: letter.sourceTimestamp?.milliseconds, sha256: letter.sourceSHA256)
            guard case .counts(let former) = fold.add(row, planned) else { return }
            if let former { report.remove(former, of: letter.source) }
            report.add(planned, of: letter.source, id: letter.id)
        }
        try await reader.visit(held, progress: { progress(.bodies, $0, $1) }) { record in
            let source = RecordPosition(record)
            let digest = SHA256.digest(record.value ?? []).hex
            let known = fold.part(of: Self.identity(source, at: record.timestampMilliseconds, sha256: digest))
            if case .judged = known?.state { return }
            report.add(report.kind(of: comparison.compare(record.value)), at: source, insteadOf: known)
        }
        report.isComplete = fold.isComplete
        return report
    }

    /// The identity of a body in `raw`, equal for the record and for all of its dead letters.
    private static func identity(_ source: RecordPosition, at timestamp: Int64?, sha256: String) -> String {
        "\(source.partition)/\(source.offset)/\(timestamp.map { String($0) } ?? "")/\(sha256)"
    }
}

/// The two verifiers, whose verdicts on one body are compared.
struct BodyComparison {
    private let present: Verifier
    private let planned: Verifier

    init(present: VerifierConfiguration, planned: VerifierConfiguration) {
        self.present = Verifier(configuration: present)
        self.planned = Verifier(configuration: planned)
    }

    func compare(_ body: [UInt8]?) -> ComparedBody {
        let (before, after) = (present.verify(body), planned.verify(body))
        var compared = ComparedBody(present: BodyVerdict(before), planned: BodyVerdict(after))
        guard compared.present != compared.planned else { return compared }
        for case .success(.items(let items)) in [before, after] {
            compared.bundleID = items.first?.bundleID
            compared.environment = items.first?.environment
        }
        return compared
    }
}

/// The verdicts on one body, and the app of a body that either verdict accepts, if they differ.
struct ComparedBody: Hashable {
    let present: BodyVerdict
    let planned: BodyVerdict
    var bundleID: Identifier?
    var environment: Environment?
}

enum BodyVerdict: Hashable {
    case accepted
    /// A genuine body without a purchase.
    case ignored
    case refused(RefusalReason)

    init(_ result: Result<VerifiedBody, Refusal>) {
        switch result {
        // Without known statuses of certificates no body is undetermined.
        case .success(.items), .success(.undetermined): self = .accepted
        case .success(.ignored): self = .ignored
        case .failure(let refusal): self = .refused(refusal.reason)
        }
    }

    var isRefused: Bool { if case .refused = self { true } else { false } }

    var name: String {
        switch self {
        case .accepted: "accepted"
        case .ignored: "ignored"
        case .refused(let reason): reason.rawValue
        }
    }
}

/// The part of a dead letter that a plan keeps: a few bytes.
struct PlannedLetter {
    enum State: Hashable {
        /// The verdicts on the original, as the report's number of them.
        case judged(Int32)
        case unjudged(Cause)
    }

    /// The reason why a letter's original is not the refused body.
    enum Cause: String, CaseIterable {
        case omitted
        case redacted
        /// The original is not the one that the letter's digest names.
        case altered
    }

    /// The reason in the letter.
    ///
    /// `nil` for one that this version does not know.
    let recorded: RefusalReason?
    let state: State

    /// - Parameter judge: returns the number of the verdicts on a body.
    init(_ letter: DeadLetter, _ record: ConsumerRecord, judge: ([UInt8]?) -> Int32) {
        recorded = RefusalReason(rawValue: letter.reason)
        let original = DeadLetterOriginal(record).value
        switch letter.value {
        case .omitted: state = .unjudged(.omitted)
        case .redacted: state = .unjudged(.redacted)
        case .original where SHA256.digest(original ?? []).hex != letter.sourceSHA256: state = .unjudged(.altered)
        case .original: state = .judged(judge(original))
        }
    }
}
