/// The result of one check of `--check --connect`.
package struct ConnectionFinding: Sendable {
    /// The checked server, topic or right, such as `topic storekit.raw`.
    package let subject: String
    /// The result, such as `12 partitions`, or an error that names the operator's next step.
    package let result: Result<String, CommandError>

    package init(_ subject: String, _ result: Result<String, CommandError>) {
        self.subject = subject
        self.result = result
    }

    package static func fine(_ subject: String, _ fact: String) -> ConnectionFinding {
        ConnectionFinding(subject, .success(fact))
    }

    package static func wrong(_ subject: String, exitCode: Int32, _ message: String) -> ConnectionFinding {
        ConnectionFinding(subject, .failure(CommandError(exitCode, message)))
    }
}

extension [ConnectionFinding] {
    /// The output: a line for each finding, and the number of failed ones.
    ///
    /// The exit code is `configuration` if any finding has it, because then an operator must act. A
    /// server that does not answer may recover by itself.
    package func outcome(of program: String) -> CommandOutcome {
        var codes: [Int32] = []
        var lines = ""
        for finding in self {
            switch finding.result {
            case .success(let fact): lines += Printable.line("ok     \(finding.subject): \(fact)") + "\n"
            case .failure(let error):
                lines += Printable.line("WRONG  \(finding.subject): \(error)") + "\n"
                codes.append(error.exitCode)
            }
        }
        guard let first = codes.first else { return CommandOutcome(exitCode: ExitCode.success, output: lines) }
        return CommandOutcome(
            exitCode: codes.contains(ExitCode.configuration) ? ExitCode.configuration : first, output: lines,
            errors: "\(program): \(codes.count) of \(count) checks found something wrong\n")
    }
}
