/// The progress of a long command: one line that changes in place, or plain lines in a log.
///
/// A terminal's line is overwritten at most ten times a second. Without a terminal, a new line is
/// written when the step changes and otherwise every five seconds; a count shorter than two seconds
/// writes no line. Lines go to standard error, because standard output contains only results.
package struct ProgressLine: Sendable {
    private static let overwriteInterval = Duration.milliseconds(100)
    private static let plainInterval = Duration.seconds(5)
    private static let firstPlainDelay = Duration.seconds(2)
    /// Minimum time for a rate; a rate over a shorter time varies too much.
    private static let rateTimeMin = Duration.seconds(1)

    private let console: Console
    private let now: @Sendable () -> ContinuousClock.Instant
    private var lastWritten: ContinuousClock.Instant?
    private var lastStep = ""
    private var lastLine = ""
    /// The current count: its step, its start time, its first number, and the last number shown.
    private var count: (step: String, start: ContinuousClock.Instant, first: Int64, last: Int64)?

    package init(console: Console, now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }) {
        self.console = console
        self.now = now
    }

    /// Shows the state of a step.
    package mutating func show(_ step: String, _ state: String = "") {
        let line = state.isEmpty ? step : "\(step): \(state)"
        defer { lastStep = step }
        guard line != lastLine, isDue(step) else { return }
        write(line)
    }

    /// Shows the finished part of a step, and after the first second also the rate and the remaining time.
    ///
    /// - Parameters:
    ///   - total: the total number; `nil` if unknown.
    ///   - one: the counted unit, in the singular.
    ///   - many: the unit's plural; by default the singular with an s.
    package mutating func show(
        _ step: String, done: some BinaryInteger, of total: (some BinaryInteger)? = Int?.none, _ one: String,
        _ many: String? = nil
    ) {
        let done = Int64(clamping: done)
        var counting = count ?? (step, now(), done, done)
        // A smaller number starts a new count, because a topic may be read twice.
        if counting.step != step || done < counting.last { counting = (step, now(), done, done) }
        counting.last = done
        count = counting
        let elapsed = now() - counting.start
        guard console.isInteractive || elapsed >= Self.firstPlainDelay, isDue(step) else { return }
        lastStep = step
        let total = total.map { Int64(clamping: $0) }
        var line = "\(step): "
        if total != nil { line += "\(Quantity.grouped(done)) of " }
        line += Quantity.counted(total ?? done, one, many)
        // The divisor is never zero.
        let seconds = max(elapsed / .seconds(1), 1e-9)
        let rate = (Double(done) - Double(counting.first)) / seconds
        if rate > 0, elapsed >= Self.rateTimeMin {
            line += ", \(Quantity.rate(rate))"
            if let total, total > done { line += ", \(Self.timeLeft(done, of: total, perSecond: rate)) left" }
        }
        if line != lastLine { write(line) }
    }

    private static func timeLeft(_ done: Int64, of total: Int64, perSecond rate: Double) -> String {
        let secondsMax = 365.0 * 86_400
        let seconds = min(max(1, (Double(total) - Double(done)) / rate), secondsMax)
        return Quantity.span(milliseconds: Int64(seconds.rounded()) * 1_000)
    }

    /// Ends the line with the result of the step, so that the next one starts a new line.
    package mutating func finish(_ line: String) {
        if console.isInteractive {
            console.overwrite(line, isEnded: true)
        } else if line != lastLine {
            console.note(line)
        }
        lastWritten = nil
        lastLine = ""
        lastStep = ""
        count = nil
    }

    /// Erases the line, so that other text can be written in its place.
    package mutating func clear() {
        if console.isInteractive, !lastLine.isEmpty {
            console.overwrite("")
            lastLine = ""
        }
    }

    private func isDue(_ step: String) -> Bool {
        guard let lastWritten, step == lastStep else { return true }
        let interval = console.isInteractive ? Self.overwriteInterval : Self.plainInterval
        return now() - lastWritten >= interval
    }

    private mutating func write(_ line: String) {
        if console.isInteractive {
            // Leave the last column empty: a character there could wrap, and a wrapped line cannot
            // be overwritten.
            console.overwrite(String(line.prefix(console.columns - 1)))
        } else {
            console.note(line)
        }
        lastWritten = now()
        lastLine = line
    }
}
