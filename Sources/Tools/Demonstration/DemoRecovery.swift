import AppStore
import Commands
import Operations
import Platform
import Store

/// The result of recovering notifications that the demo lost before they reached Kafka.
struct DemoRecovery: Sendable {
    /// The comparison with Apple's notifications after the recovery.
    let account: AppleAccount
    let lostCount: Int
    /// Number of users whose entitlements differed from their purchases before the recovery.
    let lackingCount: Int

    static let durationMax = Duration.seconds(180)
    /// The start of the time span that Apple still lists.
    static var since: Timestamp { Timestamp(milliseconds: WallClock.milliseconds - 170 * Timestamp.millisecondsPerDay) }

    /// Number of records that `recovery-worker` has published.
    var publishedCount: Int64 { account.jobs.reduce(0) { $0 + $1.published } }

    /// Number of published bodies beyond the lost ones.
    ///
    /// Negative if Apple had sent a lost notification twice, because it is fetched once.
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
    /// The number of held notifications of those that Apple lists: `211 of 230 held`.
    var progress: String {
        let (listed, held) = counts.reduce((0, 0)) { ($0.0 + $1.listed, $0.1 + $1.held) }
        return "\(Quantity.grouped(held)) of \(Quantity.grouped(listed)) held"
    }
}
