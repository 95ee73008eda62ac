package import AppStore
import JSON
import Platform
import Postgres
package import Settings
package import Store

/// Apple's count of the notifications it has sent against ours.
package struct AppleAccount: Sendable {
    let since: Timestamp
    let now: Timestamp
    package let counts: [AppleAccountTable.Count]
    let missing: [AppleAccountTable.Missing]
    /// The jobs that compare whole histories.
    package let jobs: [RecoveryWindowTable.State]

    package static func read(
        since: Timestamp,
        _ settings: SettingsValues
    ) async throws -> AppleAccount {
        try await settings.withDatabase { connection in
            var pipeline = Pipeline()
            let counts = pipeline.add(AppleAccountTable.counts, since)
            let missing = pipeline.add(AppleAccountTable.missing, since)
            let states = pipeline.add(RecoveryWindowTable.states)
            let answers = try await connection.snapshot { [pipeline] in
                try await $0.run(pipeline)
            }
            return AppleAccount(
                since: since,
                now: Timestamp(milliseconds: WallClock.milliseconds),
                counts: Array(answers[counts]),
                missing: Array(answers[missing]),
                jobs: answers[states].filter { $0.job == .complete }
            )
        }
    }

    var missingCount: Int64 { counts.reduce(0) { $0 + $1.missing } }

    /// A list that is read every day is older at times, as a run takes its time.
    private static let ageMax: Int64 = 36 * 3_600_000

    /// The part of the time that an app's list was not read over; nil if it was read over all.
    private func gap(_ job: RecoveryWindowTable.State) -> String? {
        guard let from = job.completedFrom, let until = job.completedUntil else {
            return "not read to its end yet"
        }
        if from > since { return "nothing is known of the time before" }
        guard job.completedUnreadable == 0 else {
            return Quantity.counted(job.completedUnreadable, "entry", "entries")
                + " without a notification"
        }
        let age = now.milliseconds - until.milliseconds
        return age > Self.ageMax ? "nothing is known of the time after" : nil
    }

    /// Whether everything that Apple lists is accounted for, up to a day ago.
    package var isBalanced: Bool {
        !jobs.isEmpty && jobs.allSatisfy { gap($0) == nil } && missingCount == 0
    }
}

extension AppleAccount {
    var parts: [TextPart] {
        var parts: [TextPart] = jobs.map { job in
            let app = "\(job.app.bundleID) in \(job.app.environment.rawValue)"
            let read = job.completedFrom.flatMap { from in
                job.completedUntil.map { "read from \(from) to \($0)" }
            }
            let gap = gap(job)
            let text = [read, gap].compactMap(\.self).joined(separator: ": ")
            return .line("\(app): \(text)", isBad: gap != nil)
        }
        if jobs.isEmpty {
            parts.append(.line("recovery-worker has not asked Apple about any app", isBad: true))
        }
        parts += [.blank, .table(table)]
        guard !missing.isEmpty else { return parts }
        parts += [.blank, .table(missingTable)]
        let rest = missingCount - Int64(missing.count)
        if rest > 0 {
            parts.append(.line("and \(Quantity.grouped(rest)) more", isBad: true))
        }
        return parts
    }

    package var table: TextTable {
        var table = TextTable([
            .init("environment", rank: 2), .init("bundle", rank: 3), .init("type"),
            .init("listed", .right), .init("held", .right), .init("ignored", .right, rank: 1),
            .init("dead letters", .right, rank: 1), .init("on the way", .right, rank: 1),
            .init("missing", .right),
        ])
        for count in counts {
            let numbers = [
                count.listed, count.held, count.ignored, count.deadLettered, count.onItsWay,
                count.missing,
            ]
            table.add(
                [count.app.environment.rawValue, count.app.bundleID.text, count.type]
                    + numbers.map { Quantity.grouped($0) },
                isBad: count.missing > 0
            )
        }
        return table
    }

    private var missingTable: TextTable {
        var table = TextTable([
            .init("missing"), .init("type", rank: 1), .init("signed"),
            .init("published", rank: 2), .init("bundle", rank: 3),
        ])
        for one in missing {
            table.add(
                [
                    one.uuid.text, one.type, one.signedDate.description,
                    one.publishedAt?.description ?? "never", one.app.bundleID.text,
                ],
                isBad: true
            )
        }
        return table
    }

    var json: [UInt8] {
        var writer = JSONWriter(reserving: 4_096)
        writer.object { writer in
            writer.member("is_balanced", isBalanced)
            writer.member("since", since.description)
            writer.key("apps")
            writer.array { writer in
                for job in jobs {
                    writer.object { writer in
                        job.app.write(to: &writer)
                        writer.member("completed_at", job.completedAt?.description)
                        writer.member("completed_from", job.completedFrom?.description)
                        writer.member("completed_until", job.completedUntil?.description)
                        writer.member("unreadable", job.completedUnreadable)
                    }
                }
            }
            writer.key("types")
            writer.array { writer in
                for count in counts { count.write(to: &writer) }
            }
            writer.key("missing")
            writer.array { writer in
                for one in missing { one.write(to: &writer) }
            }
        }
        return writer.bytes
    }
}

extension RecoveredApp {
    func write(to writer: inout JSONWriter) {
        writer.member("environment", environment.rawValue)
        writer.member("bundle_id", bundleID)
    }
}

extension AppleAccountTable.Count {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            app.write(to: &writer)
            writer.member("type", type)
            writer.member("listed", listed)
            writer.member("held", held)
            writer.member("ignored", ignored)
            writer.member("dead_lettered", deadLettered)
            writer.member("on_the_way", onItsWay)
            writer.member("missing", missing)
        }
    }
}

extension AppleAccountTable.Missing {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            app.write(to: &writer)
            writer.member("uuid", uuid)
            writer.member("type", type)
            writer.member("signed_at", signedDate.description)
            writer.member("published_at", publishedAt?.description)
        }
    }
}
