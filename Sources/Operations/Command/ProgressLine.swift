package import Settings

/// The progress of a long command: one line that changes, or plain lines in a log.
///
/// A terminal's line is written over at most ten times a second. Where there is no terminal, a line
/// is written when the step changes and else every five seconds, and none twice.
package struct ProgressLine {
    private static let overwriteInterval = Duration.milliseconds(100)
    private static let plainInterval = Duration.seconds(5)

    private let console: Console
    private let now: @Sendable () -> ContinuousClock.Instant
    private var lastWritten: ContinuousClock.Instant?
    private var lastStep = ""
    private var lastLine = ""

    package init(
        console: Console,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.console = console
        self.now = now
    }

    /// Shows where a step stands.
    package mutating func show(_ step: String, _ state: String = "") {
        let line = state.isEmpty ? step : "\(step): \(state)"
        defer { lastStep = step }
        guard line != lastLine, isDue(step) else { return }
        write(line)
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
    }

    /// Takes the line away, so that something else can be written.
    package mutating func clear() {
        if console.isInteractive, !lastLine.isEmpty {
            console.overwrite("")
        }
        lastLine = ""
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
