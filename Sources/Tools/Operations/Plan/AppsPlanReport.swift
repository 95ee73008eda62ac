import AppStore
import Commands
import JSON
import Records

/// The verdicts that would change with planned apps, by reason and app.
struct AppsPlanReport: Report {
    /// Maximum samples of each change.
    let samplesMax: Int
    /// Number of offsets that retention has removed from `raw`.
    var removed: Int64 = 0
    /// Whether each body was counted once: there were not too many dead letters to remember.
    var isComplete = true
    /// Whether `verify-worker` also asks for revocation.
    var isRevocationUnasked = false
    /// Bodies that were verified as records of `raw`.
    private var rawCount = 0
    /// Bodies that were verified as originals of dead letters.
    private var letterCount = 0
    /// The distinct verdicts, each with the number of its bodies.
    private var kinds: [(body: ComparedBody, bodies: Int)] = []
    private var numbers: [ComparedBody: Int32] = [:]
    private var recorded: [Recorded: Int] = [:]
    private var unjudged: [PlannedLetter.Cause: Int] = [:]
    private var samples: [Sample] = []

    /// A reason in dead letters, and the present verdict on their bodies.
    private struct Recorded: Hashable {
        let reason: RefusalReason?
        let present: BodyVerdict
    }

    private struct Sample {
        let source: RecordPosition
        let letterID: String?
        let body: ComparedBody
    }

    init(samplesMax: Int) { self.samplesMax = samplesMax }

    var bodyCount: Int { rawCount + letterCount }
    /// Bodies that are refused by the present apps and not by the planned ones.
    private var admittedCount: Int { count { $0.present.isRefused && !$0.planned.isRefused } }
    /// Bodies that only the planned apps refuse.
    var refusedCount: Int { count { !$0.present.isRefused && $0.planned.isRefused } }

    private func count(_ isCounted: (ComparedBody) -> Bool) -> Int {
        kinds.reduce(0) { $0 + (isCounted($1.body) ? $1.bodies : 0) }
    }
}

extension AppsPlanReport {
    /// The number of these verdicts; there are at most as many as pairs of verdicts for each configured app.
    mutating func kind(of body: ComparedBody) -> Int32 {
        if let number = numbers[body] { return number }
        let number = Int32(kinds.count)
        numbers[body] = number
        kinds.append((body, 0))
        return number
    }

    /// Counts a dead letter.
    mutating func add(_ letter: PlannedLetter, of source: RecordPosition, id: String) {
        switch letter.state {
        case .unjudged(let cause): unjudged[cause, default: 0] += 1
        case .judged(let kind):
            letterCount += 1
            count(kind, recorded: letter.recorded, Sample(source: source, letterID: id, body: kinds[Int(kind)].body))
        }
    }

    /// Takes back the count of a dead letter of which another copy counts.
    mutating func remove(_ letter: PlannedLetter, of source: RecordPosition) {
        switch letter.state {
        case .unjudged(let cause): unjudged[cause, default: 0] -= 1
        case .judged(let kind):
            letterCount -= 1
            kinds[Int(kind)].bodies -= 1
            recorded[Recorded(reason: letter.recorded, present: kinds[Int(kind)].body.present), default: 0] -= 1
            samples.removeAll { $0.source == source }
        }
    }

    /// Counts a body of `raw`.
    ///
    /// - Parameter letter: the body's dead letter, if any, which does not hold the body.
    mutating func add(_ kind: Int32, at source: RecordPosition, insteadOf letter: PlannedLetter?) {
        rawCount += 1
        let sample = Sample(source: source, letterID: nil, body: kinds[Int(kind)].body)
        guard let letter else { return count(kind, sample) }
        remove(letter, of: source)
        count(kind, recorded: letter.recorded, sample)
    }

    private mutating func count(_ kind: Int32, recorded reason: RefusalReason?, _ sample: Sample) {
        recorded[Recorded(reason: reason, present: sample.body.present), default: 0] += 1
        count(kind, sample)
    }

    private mutating func count(_ kind: Int32, _ sample: Sample) {
        kinds[Int(kind)].bodies += 1
        guard sample.body.present != sample.body.planned else { return }
        let alike = samples.count { $0.body.present == sample.body.present && $0.body.planned == sample.body.planned }
        if alike < samplesMax { samples.append(sample) }
    }
}

extension AppsPlanReport {
    private static let changeColumns: [ReportColumn<(body: ComparedBody, bodies: Int)>] =
        [.init("present", title: "now") { $0.body.present.name }, .init("planned") { $0.body.planned.name }] + [
            .init("bundle_id", title: "app") { $0.body.bundleID },
            .init("environment", rank: 2) { $0.body.environment?.rawValue }, .init("bodies") { $0.bodies },
        ]

    /// The changed verdicts: first those that the plan refuses, then those of most bodies.
    private var changes: [(body: ComparedBody, bodies: Int)] {
        func order(_ kind: (body: ComparedBody, bodies: Int)) -> (Int, Int, String, String) {
            (kind.body.planned.isRefused ? 0 : 1, -kind.bodies, kind.body.present.name, kind.body.planned.name)
        }
        return kinds.filter { $0.bodies > 0 && $0.body.present != $0.body.planned }.sorted { order($0) < order($1) }
    }

    private typealias RecordedCount = (key: Recorded, value: Int)

    private static let recordedColumns: [ReportColumn<RecordedCount>] = [
        .init("recorded") { $0.key.reason?.rawValue ?? "unknown" },
        .init("present", title: "now") { $0.key.present.name }, .init("dead_letters") { $0.value },
    ]

    /// The dead letters whose reason is not the present verdict.
    private var changedSince: [RecordedCount] {
        recorded.filter { $0.value > 0 && $0.key.reason.map { .refused($0) } != $0.key.present }.sorted {
            ($1.value, Self.recordedColumns.cells($0)[0]) < ($0.value, Self.recordedColumns.cells($1)[0])
        }
    }

    private static let causeColumns: [ReportColumn<(PlannedLetter.Cause, Int)>] = [
        .init("cause") { $0.0.rawValue }, .init("dead_letters") { $0.1 },
    ]

    private var causes: [(PlannedLetter.Cause, Int)] {
        PlannedLetter.Cause.allCases.map { ($0, unjudged[$0] ?? 0) }.filter { $0.1 > 0 }
    }

    private static let sampleColumns: [ReportColumn<Sample>] = [
        .init("source", title: "sample") { $0.source.description }, .init("dead_letter_id", rank: 1) { $0.letterID },
        .init("present", title: "now") { $0.body.present.name }, .init("planned") { $0.body.planned.name },
    ]

    var json: JSONContent {
        [
            "bodies": bodyCount, "raw": rawCount, "dead_letters": letterCount, "removed": removed,
            "accepted": admittedCount, "refused": refusedCount, "is_complete": isComplete,
            "is_revocation_unasked": isRevocationUnasked,
            "changes": changes.map { JSONContent($0, Self.changeColumns) },
            "recorded": changedSince.map { JSONContent($0, Self.recordedColumns) },
            "unverified": causes.map { JSONContent($0, Self.causeColumns) },
            "samples": samples.map { JSONContent($0, Self.sampleColumns) },
        ]
    }

    var parts: [TextPart] {
        var parts: [TextPart] = [
            .line(
                "\(Quantity.counted(bodyCount, "body", "bodies")) verified: \(Quantity.grouped(rawCount)) of raw, "
                    + "\(Quantity.grouped(letterCount)) of dead letters"),
            .line("refused now, would be accepted: \(Quantity.grouped(admittedCount))"),
            .line("accepted now, would be refused: \(Quantity.grouped(refusedCount))", isBad: refusedCount > 0),
        ]
        if removed > 0 { parts.append(.line("removed from raw by retention: \(Quantity.counted(removed, "offset"))")) }
        if isRevocationUnasked {
            parts.append(.line("verify-worker also asks for revocation, which is not asked here"))
        }
        if !isComplete {
            parts.append(.line("too many dead letters to remember, so some bodies count twice", isBad: true))
        }
        func add(_ table: TextTable, _ title: String? = nil) {
            guard !table.isEmpty else { return }
            parts += [.blank] + (title.map { [.line($0)] } ?? []) + [.table(table)]
        }
        add(TextTable(changes, Self.changeColumns) { !$0.body.present.isRefused && $0.body.planned.isRefused })
        add(
            TextTable(changedSince, Self.recordedColumns),
            "dead letters whose recorded reason is not the present verdict:")
        add(TextTable(causes, Self.causeColumns), "dead letters whose body is not at hand, and was not verified:")
        add(TextTable(samples, Self.sampleColumns))
        return parts
    }
}
