/// An error that ends a command: a sentence for the operator, and the exit code.
package struct CommandError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One of `ExitCode`'s.
    package let exitCode: Int32
    /// Says what was expected and what to do; never holds a token, a key or a password.
    package let message: String

    package init(_ exitCode: Int32, _ message: String) {
        self.exitCode = exitCode
        self.message = message
    }

    package var description: String { message }
}
