import Synchronization
import Worker

/// Keeps the events that a test wants to see.
final class RecordingLogHandler: LogHandler {
    let level: LogLevel
    private let kept = Mutex<[LogEvent]>([])

    init(level: LogLevel = .trace) {
        self.level = level
    }

    var events: [LogEvent] {
        kept.withLock { $0 }
    }

    var messages: [String] {
        events.map(\.message.description)
    }

    func count(_ message: String) -> Int {
        messages.count { $0 == message }
    }

    func log(_ event: LogEvent) {
        kept.withLock { $0.append(event) }
    }
}
