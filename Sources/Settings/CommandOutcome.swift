/// What a command says and how it ends, for `main` to perform.
package struct CommandOutcome: Equatable, Sendable {
    package let exitCode: Int32
    package let output: String
    package let errors: String

    package init(exitCode: Int32, output: String = "", errors: String = "") {
        self.exitCode = exitCode
        self.output = output
        self.errors = errors
    }
}
