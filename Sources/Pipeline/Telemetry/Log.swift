package import JSON
package import Settings

/// A logger, as a value that is cheap to copy.
package struct Log: Sendable {
    private let handler: any LogHandler
    private let metadata: LogMetadata

    package init(_ handler: any LogHandler, metadata: LogMetadata = [:]) {
        self.handler = handler
        self.metadata = metadata
    }

    /// Returns a log that adds this metadata to all events.
    package func with(_ metadata: LogMetadata) -> Log { Log(handler, metadata: self.metadata.appending(metadata)) }

    /// Logs an event unless its level is below the handler's.
    package func callAsFunction(
        _ level: LogLevel, _ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]
    ) {
        guard level >= handler.level else { return }
        handler.log(LogEvent(level: level, message: message, metadata: self.metadata.appending(metadata())))
    }

    package func debug(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
        self(.debug, message, metadata())
    }

    package func info(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
        self(.info, message, metadata())
    }

    package func notice(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
        self(.notice, message, metadata())
    }

    package func warning(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
        self(.warning, message, metadata())
    }

    package func error(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
        self(.error, message, metadata())
    }

    package func critical(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
        self(.critical, message, metadata())
    }
}

/// An event in the log.
///
/// The message is constant, so that events can be counted by message.
package struct LogEvent: Sendable {
    package let level: LogLevel
    package let message: StaticString
    package let metadata: LogMetadata
}

/// The destination of log events; an organisation's own logger can implement it.
package protocol LogHandler: Sendable {
    /// The lowest level of events; lower events are not created.
    var level: LogLevel { get }

    /// Handles one event; called from any thread, and must not block for long.
    func log(_ event: LogEvent)
}

/// The metadata of a log event: values by constant dotted keys (`kafka.topic`), in order.
package struct LogMetadata: Sendable, ExpressibleByDictionaryLiteral {
    package private(set) var pairs: [(key: StaticString, value: LogValue)]

    package init(dictionaryLiteral elements: (StaticString, LogValue)...) {
        pairs = elements.map { (key: $0.0, value: $0.1) }
    }

    package mutating func append(_ key: StaticString, _ value: LogValue) { pairs.append((key, value)) }

    package func appending(_ other: LogMetadata) -> LogMetadata {
        var all = self
        all.pairs += other.pairs
        return all
    }
}

/// A value in the metadata of a log event.
///
/// The value is never a token, receipt, JWS or account token.
package enum LogValue: Hashable, Sendable {
    case string(String)
    case int(Int64)
    case double(Double)
    case bool(Bool)
    case array([LogValue])

    package static func int(_ value: some BinaryInteger) -> LogValue { .int(Int64(clamping: value)) }

    /// A duration in seconds; the key should state the unit, as in `retry.delay_seconds`.
    package static func seconds(_ duration: Duration) -> LogValue { .double(duration / .seconds(1)) }

    /// Maximum bytes of a string; longer strings are cut, so that events are bounded.
    package static let stringBytesMax = 2048

    package func write(to writer: inout JSONWriter) {
        switch self {
        case .string(let text) where text.utf8.count > Self.stringBytesMax:
            writer.string(String(decoding: text.utf8.prefix(Self.stringBytesMax), as: UTF8.self) + "…")
        case .string(let text): writer.string(text)
        case .int(let value): writer.int(value)
        case .double(let value) where value.isFinite: writer.double(value)
        case .double: writer.null()
        case .bool(let value): writer.bool(value)
        case .array(let values): writer.array { writer in for value in values { value.write(to: &writer) } }
        }
    }
}

extension LogValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }

    package init(integerLiteral value: Int64) { self = .int(value) }

    package init(booleanLiteral value: Bool) { self = .bool(value) }

    package init(floatLiteral value: Double) { self = .double(value) }
}
