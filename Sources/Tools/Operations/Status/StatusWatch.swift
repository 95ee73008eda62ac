import AppStore
import Commands
import Kafka
import Platform
import Settings

/// The command `pipeline status --watch`: repeated reports, each with the rates since the previous one.
struct StatusWatch: Sendable {
    private let reader: StatusReader
    private let console: Console
    private let interval: Duration
    /// Maximum reports.
    ///
    /// `nil` for no maximum.
    private let countMax: Int?
    private let isJSON: Bool

    init(_ reader: StatusReader, arguments: CommandArguments, on console: Console) throws(UsageError) {
        self.reader = reader
        self.console = console
        let bounds = Duration.milliseconds(100)...(.seconds(3_600))
        interval = try arguments.value("interval", as: .duration(bounds)) ?? .seconds(2)
        countMax = try arguments.value("count", as: .int(1...1_000_000))
        isJSON = arguments.isSet("json")
    }

    /// The current time in UNIX milliseconds.
    static var now: Int64 { WallClock.milliseconds }

    /// Runs until interrupted, or until `countMax` reports are shown.
    ///
    /// A question that Kafka does not answer is shown and repeated. Only errors that do not end by
    /// themselves are thrown.
    func run() async throws -> Int32 {
        do { try await Interruption.cancelling { try await watch() } } catch is CancellationError {}
        return ExitCode.success
    }

    private func watch() async throws {
        var former: StatusReport?
        var count = 0
        if console.isOutputTerminal, !isJSON {
            // Clear the screen; the terminal's former contents stay in its history.
            console.redraw { _ in [] }
        }
        while true {
            let start = ContinuousClock.now
            do {
                let report = try await reader.read(now: Self.now, after: former)
                try Task.checkCancellation()
                show(report, since: former)
                former = report
            } catch let error as KafkaError where error.code != .invalidConfiguration {
                try Task.checkCancellation()
                console.note("Kafka does not answer, asking again: \(error)")
            }
            count += 1
            if let countMax, count >= countMax { return }
            try await Task.sleep(until: start + interval, clock: .continuous)
        }
    }

    private func show(_ report: StatusReport, since former: StatusReport?) {
        if isJSON {
            console.print(json: report)
        } else if console.isOutputTerminal {
            let time = Timestamp(milliseconds: report.now).toSecond
            let head: [TextPart] = [.line("\(time), Ctrl-C ends"), .blank]
            let parts = head + report.parts(since: former ?? report)
            console.redraw { parts.fitted(to: $0).lines }
        } else {
            report.plainLines(since: former).forEach { console.print($0) }
        }
    }
}
