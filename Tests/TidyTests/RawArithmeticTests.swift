import Foundation
import Testing

/// The arithmetic on numbers that come from a broker, a database, a header, a file or a body.
///
/// They are read within bounds (`KafkaBounds`, `Timestamp`, `CommitMetadata`, `HeadMembers`), and
/// ages are computed by `WallClock.age`. Every other sum, difference and product is listed here: an
/// overflow ends the process, and stops its partition.
@Suite struct RawArithmeticTests {
    /// Members that hold such numbers.
    private static let names = [
        "offset", "nextOffset", "sourceOffset", "letterOffset", "high", "low", "began", "counted",
        "forwarded", "committed", "settled", "milliseconds", "timestampMilliseconds", "writtenAt",
        "timestamp", "partition", "attempt",
    ]

    /// Targets whose numbers are their own, or indexes into bytes that they hold.
    private static let exempt = ["Simulation", "Demonstration", "Benchmarks", "JSON", "OpenSSL"]
        .map { "Sources/\($0)/" }

    /// How many lines of a file calculate with them, and why none overflows.
    private static let known: [String: (lines: Int, why: String)] = [
        "Sources/AppStore/Payload/Identifier.swift": (3, "indexes into bytes that it holds"),
        "Sources/AppStore/Payload/Timestamp.swift": (1, "four digits of a year"),
        "Sources/AppStoreServer/AppStoreServerAPI.swift": (1, "a second after this clock"),
        "Sources/AppStoreServer/RequestPace.swift": (2, "Timestamps, and the seconds of a day"),
        "Sources/AuditConsole/Pages/LetterFilter.swift": (1, "a count up to 100,000 of days"),
        "Sources/AuditConsole/Pages/OverviewPage.swift": (1, "the difference of two Timestamps"),
        "Sources/AuditConsole/SignIn/Sessions.swift": (1, "instants of this process"),
        "Sources/DeadLetters/Chain/ChainWalk.swift": (2, counted),
        "Sources/DeadLetters/Index/DeadLetterIndexer.swift": (1, bounded),
        "Sources/DeadLetters/Index/IndexSession.swift": (1, bounded),
        "Sources/DeadLetters/Index/IndexWriter.swift": (1, bounded),
        "Sources/DeadLetters/Tool/CountCommand.swift": (1, "the millisecond before a Timestamp"),
        "Sources/DeadLetters/Tool/FilterOptions.swift": (1, "the option is bounded"),
        "Sources/Entitlements/Catalog/CalendarPeriod.swift": (1, "within a day"),
        "Sources/HTTP/ConnectionLimits.swift": (1, "instants of this process"),
        "Sources/Kafka/TopicScan.swift": (2, bounded),
        "Sources/Operations/Command/TopicReader.swift": (1, bounded),
        "Sources/Operations/Reconcile/AccountReader.swift": (2, bounded),
        "Sources/Operations/Reconcile/ExactCounter.swift": (1, "within the offsets that are held"),
        "Sources/Operations/Reconcile/Flow.swift": (2, counted),
        "Sources/Operations/Reconcile/Reconciliation.swift": (1, counted),
        "Sources/Operations/Reconcile/StageAccount.swift": (3, counted),
        "Sources/Operations/Status/StatusReport.swift": (1, "128 bits"),
        "Sources/Operations/Reconcile/AppleAccount.swift": (1, "the difference of two Timestamps"),
        "Sources/Operations/Reconcile/ReconcileCommand.swift": (1, "a week before this clock"),
        "Sources/Records/Stages/StageTally.swift": (1, counted),
        "Sources/Stages/Recovery/RecoveryMetrics.swift": (1, "the difference of two Timestamps"),
        "Sources/Stages/Recovery/RecoveryPlan.swift": (1, "a Timestamp and some days"),
        "Sources/Stages/Verify/RevocationBook.swift": (3, "a Timestamp and an interval"),
        "Sources/Worker/Assignment/Batch.swift": (1, bounded),
        "Sources/Worker/Assignment/PartitionState.swift": (5, bounded),
        "Sources/Worker/Assignment/WaitingRecords.swift": (1, bounded),
    ]

    private static let bounded = "offsets of records, commits and ends are within KafkaBounds"
    private static let counted = "CommitMetadata bounds each count"

    @Test func `arithmetic on numbers from outside is listed, with the reason why it is safe`()
        throws
    {
        let list = Self.names.joined(separator: "|")
        let pattern = try NSRegularExpression(
            pattern: #"(\.|(?<![\w.])(?=offset\b))(\#(list))[)?]* [-+*]=? "#
                + #"| [-+*] \(*[\w$.\[\]?]*\.(\#(list))\b(?!\()"#
        )
        var found: [String: [String]] = [:]
        for file in TidyTests.sources where !Self.exempt.contains(where: file.path.hasPrefix) {
            for (number, line) in file.lines.enumerated() {
                let code = line.drop { $0 == " " }
                guard !code.hasPrefix("//") else { continue }
                let text = String(code)
                let range = NSRange(text.startIndex..., in: text)
                guard pattern.firstMatch(in: text, range: range) != nil else { continue }
                found[file.path, default: []].append("\(number + 1): \(text)")
            }
        }
        for (path, lines) in found.sorted(by: { $0.key < $1.key }) {
            #expect(
                lines.count == Self.known[path]?.lines,
                "\(path): read these numbers within bounds, then list it\n\(lines.joined())"
            )
        }
        #expect(Set(Self.known.keys).subtracting(found.keys).isEmpty)
    }
}
