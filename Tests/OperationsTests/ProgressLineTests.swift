import Synchronization
import TestSupport
import Testing

@testable import Operations

@Suite struct ProgressLineTests {
    private final class ManualClock: Sendable {
        private let instant = Mutex(ContinuousClock.now)
        func advance(by duration: Duration) { instant.withLock { $0 += duration } }
        var now: ContinuousClock.Instant { instant.withLock { $0 } }
    }

    private let clock = ManualClock()
    private let transcript = ConsoleTranscript()

    private func line(isInteractive: Bool, columns: Int = 100) -> ProgressLine {
        ProgressLine(
            console: transcript.console(isInteractive: isInteractive, columns: columns),
            now: { [clock] in clock.now }
        )
    }

    @Test func `a log gets a line when the step changes and then every five seconds`() {
        var line = line(isInteractive: false)
        line.show("publishing", "1 of 3")
        line.show("publishing", "2 of 3")
        clock.advance(by: .seconds(5))
        line.show("publishing", "3 of 3")
        line.show("waiting")
        #expect(transcript.notes == "publishing: 1 of 3\npublishing: 3 of 3\nwaiting\n")
        #expect(transcript.output.isEmpty)
    }

    @Test func `a terminal's line is written over ten times a second at most`() {
        var line = line(isInteractive: true)
        line.show("publishing", "1")
        line.show("publishing", "2")
        clock.advance(by: .milliseconds(100))
        line.show("publishing", "3")
        line.finish("published 3")
        #expect(
            transcript.notes
                == "\r\u{1B}[Kpublishing: 1\r\u{1B}[Kpublishing: 3\r\u{1B}[Kpublished 3\n"
        )
    }

    @Test func `a line never wraps`() {
        var line = line(isInteractive: true, columns: 8)
        line.show("publishing")
        #expect(transcript.notes == "\r\u{1B}[Kpublish")
    }
}
