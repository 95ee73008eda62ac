/// What ends a command early: a sentence for the operator, and the exit code.
package struct CommandError: Error, Hashable, Sendable, CustomStringConvertible {
    package let exitCode: ExitCode
    /// Says what was expected and what to do; never holds a token, a key or a password.
    package let message: String

    package init(_ exitCode: ExitCode, _ message: String) {
        self.exitCode = exitCode
        self.message = message
    }

    package var description: String { message }
}
