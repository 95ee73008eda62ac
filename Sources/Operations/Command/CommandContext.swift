package import Settings

/// What a command knows of the process that it runs in.
package struct CommandContext: Sendable {
    package var console: Console
    /// The environment that settings are read from.
    package var environment: [String: String]
    /// The folder of the executables, where `demo` finds the workers.
    package var executables: String

    package init(console: Console, environment: [String: String], executables: String) {
        self.console = console
        self.environment = environment
        self.executables = executables
    }
}
