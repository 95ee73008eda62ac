/// An error that ends a command, with a sentence for the operator and the exit code.
package struct CommandError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The exit code, one of `ExitCode`.
    package let exitCode: Int32
    /// States the expected form and what to do; never contains a token, a key or a password.
    package let message: String

    package init(_ exitCode: Int32, _ message: String) {
        self.exitCode = exitCode
        self.message = message
    }

    package var description: String { message }
}

/// An error of a server or of a request, with the exit code of the command that it ends.
package protocol CommandFailure: Error {
    /// The exit code, one of `ExitCode`.
    var exitCode: Int32 { get }

    /// Returns a sentence for the operator.
    ///
    /// - Parameter rights: text that names the role whose rights the command needs, for an error of
    ///   a missing right.
    func explanation(rights: String) -> String
}

extension CommandFailure { package func explanation(rights: String) -> String { "\(self)" } }

extension CommandError {
    /// Describes an error for the operator, identically in every tool.
    ///
    /// - Parameter rights: text that names the role whose rights the command needs.
    package init(describing error: any Error, rights: String = "") {
        switch error {
        case let error as CommandError: self = error
        case let error as UsageError: self.init(ExitCode.usage, error.message)
        case let error as SettingsError:
            let problems = error.problems.map { "  \($0)" }.joined(separator: "\n")
            self.init(ExitCode.configuration, "invalid settings:\n\(problems)")
        case is CancellationError: self.init(ExitCode.interrupted, "interrupted")
        case let error as any CommandFailure: self.init(error.exitCode, error.explanation(rights: rights))
        default: self.init(ExitCode.software, "\(error)")
        }
    }
}
