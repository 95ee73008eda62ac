import Commands
import Synchronization
import TestSupport
import Testing

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
            console: transcript.console(isInteractive: isInteractive, columns: columns), now: { [clock] in clock.now })
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
        #expect(transcript.notes == "\r\u{1B}[Kpublishing: 1\r\u{1B}[Kpublishing: 3\r\u{1B}[Kpublished 3\n")
    }

    @Test func `a line never wraps`() {
        var line = line(isInteractive: true, columns: 8)
        line.show("publishing")
        #expect(transcript.notes == "\r\u{1B}[Kpublish")
    }

    @Test func `a count shows done of total, rate and time left`() {
        var line = line(isInteractive: true)
        line.show("publishing", done: 0, of: 5_000, "body", "bodies")
        clock.advance(by: .seconds(3))
        line.show("publishing", done: 1_200, of: 5_000, "body", "bodies")
        line.clear()
        #expect(
            transcript.notes == "\r\u{1B}[Kpublishing: 0 of 5,000 bodies"
                + "\r\u{1B}[Kpublishing: 1,200 of 5,000 bodies, 400/s, 10 s left\r\u{1B}[K")
    }

    @Test func `a log gets no count in two seconds, and then one every five`() {
        var line = line(isInteractive: false)
        for second in 0..<14 {
            line.show("reading", done: second * 4, "record")
            clock.advance(by: .seconds(1))
        }
        line.clear()
        #expect(
            transcript.notes == "reading: 8 records, 4.0/s\nreading: 28 records, 4.0/s\n"
                + "reading: 48 records, 4.0/s\n")
    }

    @Test func `work that is done within two seconds writes nothing without a terminal`() {
        var line = line(isInteractive: false)
        line.show("reading", done: 0, of: 9, "record")
        clock.advance(by: .milliseconds(1_900))
        line.show("reading", done: 9, of: 9, "record")
        line.clear()
        #expect(transcript.notes.isEmpty)
    }

    @Test func `a rate begins again where the count does`() {
        var line = line(isInteractive: true)
        line.show("reading", done: 0, of: 100, "record")
        clock.advance(by: .seconds(10))
        line.show("reading", done: 100, of: 100, "record")
        clock.advance(by: .seconds(1))
        line.show("reading", done: 1, of: 100, "record")
        clock.advance(by: .seconds(2))
        line.show("reading", done: 5, of: 100, "record")
        #expect(transcript.notes.hasSuffix("reading: 5 of 100 records, 2.0/s, 48 s left"))
    }

    @Test(arguments: [Int64.min, -1, 0, 1, .max]) func `any number can be shown`(number: Int64) {
        var line = line(isInteractive: true)
        for total in [Int64.min, 0, .max] {
            line.show("reading", done: number, of: total, "record")
            clock.advance(by: .seconds(5))
            line.show("reading", done: Int64.max, of: total, "record")
        }
        #expect(transcript.notes.contains("9,223,372,036,854,775,807 of"))
    }

    @Test func `a note beside the work replaces the line on a terminal`() {
        transcript.console(isInteractive: true).interject("waiting for Kafka")
        transcript.console().interject("waiting for Kafka")
        #expect(transcript.notes == "\r\u{1B}[Kwaiting for Kafka\nwaiting for Kafka\n")
    }
}
