/// Makes log events; a value, cheap to copy and to pass on.
package struct Log: Sendable {
    private let handler: any LogHandler
    private let metadata: LogMetadata

    package init(_ handler: any LogHandler, metadata: LogMetadata = [:]) {
        self.handler = handler
        self.metadata = metadata
    }

    /// A log whose events all carry this as well.
    package func with(_ metadata: LogMetadata) -> Log {
        Log(handler, metadata: self.metadata.appending(metadata))
    }

    /// Makes an event, unless its level is below the handler's.
    package func callAsFunction(
        _ level: LogLevel,
        _ message: StaticString,
        _ metadata: @autoclosure () -> LogMetadata = [:]
    ) {
        guard level >= handler.level else { return }
        handler.log(
            LogEvent(
                level: level,
                message: message,
                metadata: self.metadata.appending(metadata())
            )
        )
    }

    package func debug(
        _ message: StaticString,
        _ metadata: @autoclosure () -> LogMetadata = [:]
    ) {
        self(.debug, message, metadata())
    }

    package func info(
        _ message: StaticString,
        _ metadata: @autoclosure () -> LogMetadata = [:]
    ) {
        self(.info, message, metadata())
    }

    package func notice(
        _ message: StaticString,
        _ metadata: @autoclosure () -> LogMetadata = [:]
    ) {
        self(.notice, message, metadata())
    }

    package func warning(
        _ message: StaticString,
        _ metadata: @autoclosure () -> LogMetadata = [:]
    ) {
        self(.warning, message, metadata())
    }

    package func error(
        _ message: StaticString,
        _ metadata: @autoclosure () -> LogMetadata = [:]
    ) {
        self(.error, message, metadata())
    }

    package func critical(
        _ message: StaticString,
        _ metadata: @autoclosure () -> LogMetadata = [:]
    ) {
        self(.critical, message, metadata())
    }
}
