/// The result of one check of `--check --connect`.
package struct ConnectionFinding: Sendable {
    /// The server, topic or right that was checked, such as `topic storekit.raw`.
    package let subject: String
    /// The fact found, such as `12 partitions`, or an error that names the operator's next step.
    package let result: Result<String, CommandError>

    package init(_ subject: String, _ result: Result<String, CommandError>) {
        self.subject = subject
        self.result = result
    }

    package static func fine(_ subject: String, _ fact: String) -> ConnectionFinding {
        ConnectionFinding(subject, .success(fact))
    }

    package static func wrong(_ subject: String, _ exitCode: Int32, _ message: String) -> ConnectionFinding {
        ConnectionFinding(subject, .failure(CommandError(exitCode, message)))
    }
}

extension [ConnectionFinding] {
    /// Prints each finding, and how many are wrong.
    ///
    /// - Returns: the exit code: `configuration` if any finding has it, because an operator must
    ///   act then, while a server that does not answer may come back by itself.
    package func report(of program: String, on console: Console) -> Int32 {
        var codes: [Int32] = []
        for finding in self {
            switch finding.result {
            case .success(let fact): console.print("ok     \(finding.subject): \(fact)")
            case .failure(let error):
                console.print("WRONG  \(finding.subject): \(error)", isBad: true)
                codes.append(error.exitCode)
            }
        }
        guard !codes.isEmpty else { return ExitCode.success }
        console.note("\(program): \(codes.count) of \(count) checks found something wrong")
        return codes.contains(ExitCode.configuration) ? ExitCode.configuration : codes[0]
    }
}
