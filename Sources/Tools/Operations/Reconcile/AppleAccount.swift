package import AppStore
package import Commands
package import JSON
import Platform
import Postgres
package import Settings
package import Store

/// A comparison of the notifications that Apple has sent with the stored ones.
package struct AppleAccount: Sendable {
    let since: Timestamp
    let now: Timestamp
    package let counts: [AppleAccountTable.Count]
    let missing: [AppleAccountTable.Missing]
    /// The jobs that compare whole histories.
    package let jobs: [RecoveryWindowTable.State]

    package static func read(since: Timestamp, _ settings: SettingsValues) async throws -> AppleAccount {
        try await settings.withDatabase { connection in
            var pipeline = Pipeline()
            let counts = pipeline.add(AppleAccountTable.counts, since)
            let missing = pipeline.add(AppleAccountTable.missing, since)
            let states = pipeline.add(RecoveryWindowTable.states)
            let answers = try await connection.snapshot { [pipeline] in try await $0.run(pipeline) }
            return AppleAccount(
                since: since, now: Timestamp(milliseconds: WallClock.milliseconds), counts: Array(answers[counts]),
                missing: Array(answers[missing]), jobs: answers[states].filter { $0.job == .complete })
        }
    }

    var missingCount: Int64 { counts.reduce(0) { $0 + $1.missing } }
    private var onItsWayCount: Int64 { counts.reduce(0) { $0 + $1.onItsWay } }

    /// Maximum age of a list in milliseconds; longer than the daily interval, because a run takes time.
    private static let ageMax: Int64 = 36 * 3_600_000

    /// The part of the time for which an app's list was not read.
    ///
    /// `nil` if the list was read completely.
    private func gap(_ job: RecoveryWindowTable.State) -> String? {
        guard let from = job.completedFrom, let until = job.completedUntil else { return "not read to its end yet" }
        if from > since { return "nothing is known of the time before" }
        guard job.completedUnreadable == 0 else {
            return Quantity.counted(job.completedUnreadable, "entry", "entries") + " without a notification"
        }
        let age = now.milliseconds - until.milliseconds
        return age > Self.ageMax ? "nothing is known of the time after" : nil
    }

    /// Whether every notification that Apple lists, up to a day ago, is held, ignored or a dead letter.
    package var isBalanced: Bool {
        !jobs.isEmpty && jobs.allSatisfy { gap($0) == nil } && missingCount + onItsWayCount == 0
    }
}

extension AppleAccount: Report {
    package var parts: [TextPart] {
        var parts: [TextPart] = jobs.map { job in
            let app = "\(job.app.bundleID) in \(job.app.environment.rawValue)"
            let read = job.completedFrom.flatMap { from in job.completedUntil.map { "read from \(from) to \($0)" } }
            let gap = gap(job)
            let text = [read, gap].compactMap(\.self).joined(separator: ": ")
            return .line("\(app): \(text)", isBad: gap != nil)
        }
        if jobs.isEmpty { parts.append(.line("recovery-worker has not asked Apple about any app", isBad: true)) }
        if onItsWayCount > 0 {
            let count = Quantity.counted(onItsWayCount, "notification is", "notifications are")
            parts.append(.line("\(count) on the way, and not held yet", isBad: true))
        }
        parts += [.blank, .table(table)]
        guard !missing.isEmpty else { return parts }
        parts += [.blank, .table(TextTable(missing, Self.missingColumns) { _ in true })]
        let rest = missingCount - Int64(missing.count)
        if rest > 0 { parts.append(.line("and \(Quantity.grouped(rest)) more", isBad: true)) }
        return parts
    }

    package var table: TextTable { TextTable(counts, Self.countColumns) { $0.missing + $0.onItsWay > 0 } }

    private static let countColumns: [ReportColumn<AppleAccountTable.Count>] = [
        .init("environment", rank: 2) { $0.app.environment.rawValue },
        .init("bundle_id", title: "bundle", rank: 3, \.app.bundleID), .init("type", \.type), .init("listed", \.listed),
        .init("held", \.held), .init("ignored", rank: 1, \.ignored), .init("dead_letters", rank: 1, \.deadLettered),
        .init("on_the_way", rank: 1, \.onItsWay), .init("missing", \.missing),
    ]

    private static let missingColumns: [ReportColumn<AppleAccountTable.Missing>] = [
        .member("environment") { $0.app.environment.rawValue }, .init("uuid", title: "missing", \.uuid),
        .init("type", rank: 1, \.type), .init("signed_at", title: "signed", \.signedDate),
        .init("published_at", title: "published", rank: 2, \.publishedAt) { $0.publishedAt?.description ?? "never" },
        .init("bundle_id", title: "bundle", rank: 3, \.app.bundleID),
    ]

    package var json: JSONContent {
        [
            "is_balanced": isBalanced, "since": since,
            "apps": jobs.map { job in
                job.app.json + [
                    "completed_at": job.completedAt, "completed_from": job.completedFrom,
                    "completed_until": job.completedUntil, "unreadable": job.completedUnreadable,
                ]
            }, "types": counts.map { JSONContent($0, Self.countColumns) },
            "missing": missing.map { JSONContent($0, Self.missingColumns) },
        ]
    }
}

extension RecoveredApp { var json: JSONContent { ["environment": environment.rawValue, "bundle_id": bundleID] } }
