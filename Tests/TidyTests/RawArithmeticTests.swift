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
        "offset", "nextOffset", "sourceOffset", "letterOffset", "high", "low", "began", "counted", "forwarded",
        "committed", "settled", "milliseconds", "timestampMilliseconds", "writtenAt", "timestamp", "partition",
        "attempt",
    ]

    /// Targets whose numbers are their own, or indexes into bytes that they hold.
    private static let exempt = [
        "Tests/Kit/", "Sources/Tools/Demonstration/", "Sources/Rules/JSON/", "Sources/Wrappers/OpenSSL/",
    ]

    /// Number of lines in each file that calculate with such numbers, and the reason why none
    /// overflows.
    private static let known: [String: (lines: Int, why: String)] = [
        "Sources/Rules/AppStore/Payload/Identifier.swift": (3, "indexes into bytes that it holds"),
        "Sources/Rules/AppStore/Payload/Timestamp.swift": (1, "four digits of a year"),
        "Sources/Pipeline/AppStoreServer/AppStoreServerAPI.swift": (1, "a second after this clock"),
        "Sources/Pipeline/AppStoreServer/RequestPace.swift": (2, "Timestamps, and the seconds of a day"),
        "Sources/Tools/AuditConsole/Pages/LetterFilter.swift": (1, "a count up to 100,000 of days"),
        "Sources/Tools/AuditConsole/Pages/OverviewPage.swift": (1, "the difference of two Timestamps"),
        "Sources/Tools/AuditConsole/SignIn/Sessions.swift": (1, "instants of this process"),
        "Sources/Tools/DeadLetters/Chain/ChainWalk.swift": (2, counted),
        "Sources/Tools/DeadLetters/Index/IndexProgress.swift": (1, bounded),
        "Sources/Tools/DeadLetters/Index/IndexStanding.swift": (1, "the difference of two Timestamps"),
        "Sources/Tools/Index/IndexStage.swift": (2, bounded),
        "Sources/Tools/DeadLetters/Tool/CountCommand.swift": (1, "the millisecond before a Timestamp"),
        "Sources/Tools/DeadLetters/Tool/FilterOptions.swift": (1, "the option is bounded"),
        "Sources/Rules/Entitlements/Catalog/CalendarPeriod.swift": (1, "within a day"),
        "Sources/Wrappers/HTTP/ConnectionLimits.swift": (1, "instants of this process"),
        "Sources/Wrappers/Kafka/TopicScan.swift": (2, bounded),
        "Sources/Tools/Operations/Account/AccountCommand.swift": (1, counted),
        "Sources/Tools/Operations/Command/TopicReader.swift": (1, bounded),
        "Sources/Tools/Operations/Reconcile/AccountReader.swift": (2, bounded),
        "Sources/Tools/Operations/Reconcile/ExactCounter.swift": (1, "within the offsets that are held"),
        "Sources/Tools/Operations/Reconcile/Flow.swift": (2, counted),
        "Sources/Tools/Operations/Reconcile/Reconciliation.swift": (1, counted),
        "Sources/Tools/Operations/Reconcile/StageAccount.swift": (3, counted),
        "Sources/Tools/Operations/Status/StatusReport.swift": (1, "128 bits"),
        "Sources/Tools/Operations/Reconcile/AppleAccount.swift": (1, "the difference of two Timestamps"),
        "Sources/Tools/Operations/Reconcile/ReconcileCommand.swift": (1, "a week before this clock"),
        "Sources/Pipeline/Records/Stages/StageTally.swift": (1, counted),
        "Sources/Pipeline/Stages/Recovery/RecoveryMetrics.swift": (1, "the difference of two Timestamps"),
        "Sources/Pipeline/Stages/Verify/RevocationBook.swift": (3, "a Timestamp and an interval"),
        "Sources/Pipeline/Worker/Assignment/Assignment.swift": (2, bounded),
        "Sources/Pipeline/Worker/Assignment/Batch.swift": (1, bounded),
        "Sources/Pipeline/Worker/Assignment/PartitionState.swift": (5, bounded),
        "Sources/Pipeline/Worker/Assignment/WaitingRecords.swift": (1, bounded),
    ]

    private static let bounded = "offsets of records, commits and ends are within KafkaBounds"
    private static let counted = "CommitMetadata bounds each count"

    @Test func `arithmetic on numbers from outside is listed, with the reason why it is safe`() throws {
        let list = Self.names.joined(separator: "|")
        let pattern = try NSRegularExpression(
            pattern: #"(\.|(?<![\w.])(?=offset\b))(\#(list))[)?]* [-+*]=? "#
                + #"| [-+*] \(*[\w$.\[\]?]*\.(\#(list))\b(?!\()"#)
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
                "\(path): read these numbers within bounds, then list it\n\(lines.joined())")
        }
        #expect(Set(Self.known.keys).subtracting(found.keys).isEmpty)
    }
}
