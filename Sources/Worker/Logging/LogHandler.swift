/// Where log events go; a house with a logger of its own puts it behind this.
package protocol LogHandler: Sendable {
    /// Events below it are not made.
    var level: LogLevel { get }

    /// Takes one event; called from any thread, and must not throw or wait for long.
    func log(_ event: LogEvent)
}
