/// The progress of a long command: one line that changes, or plain lines in a log.
///
/// A terminal's line is written over at most ten times a second. Without a terminal, a new line is
/// written when the step changes and otherwise every five seconds; a count that takes less than two
/// seconds has none. Lines are notes: standard output holds results alone.
package struct ProgressLine: Sendable {
    private static let overwriteInterval = Duration.milliseconds(100)
    private static let plainInterval = Duration.seconds(5)
    private static let plainDelay = Duration.seconds(2)
    /// A rate over a shorter time varies too much.
    private static let rateTimeMin = Duration.seconds(1)

    private let console: Console
    private let now: @Sendable () -> ContinuousClock.Instant
    private var lastWritten: ContinuousClock.Instant?
    private var lastStep = ""
    private var lastLine = ""
    /// When the present count began and at which number, and the number shown last.
    private var count: (step: String, start: ContinuousClock.Instant, first: Int64, last: Int64)?

    package init(
        console: Console,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
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

    /// Shows how much of a step is done, and after its first second the rate and the time left.
    ///
    /// - Parameters:
    ///   - total: nil if unknown.
    ///   - many: the plural of the unit; with an s at its end unless given.
    package mutating func show(
        _ step: String,
        done: some BinaryInteger,
        of total: (some BinaryInteger)? = Int?.none,
        _ one: String,
        _ many: String? = nil
    ) {
        let done = Int64(clamping: done)
        var counting = count ?? (step, now(), done, done)
        // A smaller number begins again: a topic may be read twice.
        if counting.step != step || done < counting.last { counting = (step, now(), done, done) }
        counting.last = done
        count = counting
        let elapsed = now() - counting.start
        guard console.isInteractive || elapsed >= Self.plainDelay, isDue(step) else { return }
        lastStep = step
        let total = total.map { Int64(clamping: $0) }
        var line = "\(step): "
        if total != nil { line += "\(Quantity.grouped(done)) of " }
        line += Quantity.counted(total ?? done, one, many)
        let seconds = max(elapsed / .seconds(1), 1e-9)
        let rate = (Double(done) - Double(counting.first)) / seconds
        if rate > 0, elapsed >= Self.rateTimeMin {
            line += ", \(Quantity.rate(rate))"
            if let total, total > done { line += ", \(Self.left(done, total, rate)) left" }
        }
        if line != lastLine { write(line) }
    }

    private static func left(_ done: Int64, _ total: Int64, _ rate: Double) -> String {
        // Whatever takes longer is shown as a year.
        let seconds = min(max(1, (Double(total) - Double(done)) / rate), 365 * 86_400)
        return Quantity.span(milliseconds: Int64(seconds.rounded()) * 1_000)
    }

    /// Leaves the line standing, with what became of the step, and begins a new one.
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

    /// Takes the line away, so that something else can be written.
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
            console.overwrite(String(line.prefix(console.columns - 1)))
        } else {
            console.note(line)
        }
        lastWritten = now()
        lastLine = line
    }
}
