import AppStore
import Glibc
import JSON
import Platform
package import Settings
import Synchronization

/// Writes events as JSON, one line each, to a descriptor: standard error by default.
///
/// A line is written whole before the next one begins. A reader that stopped reading stops the
/// writer too; one that is gone costs the line and nothing else.
package final class JSONLogHandler: LogHandler {
    package let level: LogLevel
    private let descriptor: Int32
    private let turn = Mutex(())

    package init(level: LogLevel, descriptor: Int32 = STDERR_FILENO) {
        self.level = level
        self.descriptor = descriptor
    }

    package func log(_ event: LogEvent) {
        let now = Timestamp(milliseconds: WallClock.milliseconds)
        let line = Self.line(event, at: now)
        _ = turn.withLock { _ in FileSystem.write(line, to: descriptor) }
    }

    /// Writes an event as a line; of a key given twice the line has the later value.
    static func line(_ event: LogEvent, at time: Timestamp) -> [UInt8] {
        var writer = JSONWriter(reserving: 512)
        writer.object { writer in
            writer.key("time")
            writer.string(time.description)
            writer.key("level")
            writer.string(event.level.rawValue)
            writer.key("message")
            writer.string(event.message.description)
            let pairs = event.metadata.pairs
            for (index, pair) in pairs.enumerated() {
                let isOverridden = pairs[(index + 1)...].contains { $0.key.description == pair.key.description }
                guard !isOverridden else { continue }
                writer.key(pair.key)
                pair.value.write(to: &writer)
            }
        }
        // Logs are read in terminals, and hold what the other end of a connection reported.
        return Array((Printable.json(String(decoding: writer.bytes, as: UTF8.self)) + "\n").utf8)
    }
}
