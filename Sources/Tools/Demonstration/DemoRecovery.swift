import AppStore
import Commands
import Operations
import Platform
import Store

/// The story of a demo that has lost notifications before they reached Kafka.
struct DemoRecovery: Sendable {
    /// Apple's count after the recovery.
    let account: AppleAccount
    let lostCount: Int
    /// Number of users who, before the recovery, had other than what their purchases grant.
    let lackingCount: Int

    static let durationMax = Duration.seconds(180)
    /// The start of the time that Apple still lists.
    static var since: Timestamp { Timestamp(milliseconds: WallClock.milliseconds - 170 * Timestamp.millisecondsPerDay) }

    /// Number of records that recovery-worker has published.
    var publishedCount: Int64 { account.jobs.reduce(0) { $0 + $1.published } }

    /// Number of published bodies beyond the lost ones; negative if Apple had sent a lost
    /// notification twice, which is fetched once.
    var surplusCount: Int64 { publishedCount - Int64(lostCount) }

    var lines: [String] {
        let margin = DemoResult.margin
        return [
            "5. What never arrived: \(Quantity.counted(lostCount, "notification"))", "",
            margin + "recovery-worker asked a simulated Apple server, and published "
                + "\(Quantity.grouped(publishedCount)) of what it lists:", "",
        ] + account.table.lines(indent: margin.count) + [
            "",
            margin + "\(Quantity.counted(lackingCount, "user")) had lacked what they bought, or "
                + "kept what they gave back.",
        ]
    }
}

extension AppleAccount {
    /// The held part of what Apple lists: `211 of 230 held`.
    var progress: String {
        let (listed, held) = counts.reduce((0, 0)) { ($0.0 + $1.listed, $0.1 + $1.held) }
        return "\(Quantity.grouped(held)) of \(Quantity.grouped(listed)) held"
    }
}
