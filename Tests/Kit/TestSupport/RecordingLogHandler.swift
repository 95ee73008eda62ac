package import Settings
import Synchronization
package import Telemetry

/// Keeps the events that a test wants to see.
package final class RecordingLogHandler: LogHandler {
    package let level: LogLevel
    private let kept = Mutex<[LogEvent]>([])

    package init(level: LogLevel = .trace) { self.level = level }

    package var events: [LogEvent] { kept.withLock { $0 } }

    package var messages: [String] { events.map(\.message.description) }

    package func count(_ message: String) -> Int { messages.count { $0 == message } }

    /// The metadata of one message's events, as text.
    package func metadata(of message: String) -> [String] {
        events.filter { $0.message.description == message }.map { event in
            event.metadata.pairs.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        }
    }

    package func log(_ event: LogEvent) { kept.withLock { $0.append(event) } }
}
