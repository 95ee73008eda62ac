import AppStore
import Glibc
import JSON
import Platform
package import Settings
import Synchronization

/// Writes each event as a line of JSON to a descriptor, by default standard error.
///
/// A line is written completely before the next one begins. If the reader stops reading, the writer
/// blocks; if the reader is gone, only the line is lost.
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

    /// Formats an event as a line; for a repeated key the line has the later value.
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
        // Logs are read in terminals and contain text from the other ends of connections.
        return Array((Printable.json(String(decoding: writer.bytes, as: UTF8.self)) + "\n").utf8)
    }
}
