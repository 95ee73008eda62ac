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
        turn.withLock { _ in write(line) }
    }

    /// One event as a line; of a key given twice the later value stands.
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
                let isOverridden = pairs[(index + 1)...].contains {
                    $0.key.description == pair.key.description
                }
                guard !isOverridden else { continue }
                writer.key(pair.key)
                pair.value.write(to: &writer)
            }
        }
        // Logs are read in terminals, and hold what the other end of a connection reported.
        return Array((Printable.json(String(decoding: writer.bytes, as: UTF8.self)) + "\n").utf8)
    }

    private func write(_ line: [UInt8]) {
        var rest = line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wanted, 1, 1000)
            } else if count == 0 || errno != EINTR {
                return
            }
        }
    }
}
