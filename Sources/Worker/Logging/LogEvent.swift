/// One thing that happened.
///
/// The message is constant, so that events can be counted by it.
package struct LogEvent: Sendable {
    package let level: LogLevel
    package let message: StaticString
    package let metadata: LogMetadata
}
