import Commands
import Foundation
import JSON
import Settings
import Simulation

/// `bench compare`: two builds, measured in turns, so that a busy moment of the machine hits both.
enum CompareCommand {
    private static let syntax = CommandSyntax(
        "bench compare",
        """
        Runs `bench pipeline` of two build folders in turns, with the arguments that follow `--`, \
        and prints what the second costs of the first: the median of the rounds' ratios, and the \
        smallest and the largest of them.
        """, operands: "FOLDER FOLDER -- --kafka BOOTSTRAP …", operandCount: 2...1_000,
        options: [CommandOption("rounds", argument: "N", "How often each of the two runs (3).")])

    static let command = ToolCommand(syntax: syntax) { options, context in
        let console = context.console
        let rounds = try BenchOptions.number(options, "rounds", in: 1...1_000) ?? 3
        let folders = options.operands.prefix(2)
        for folder in folders where !FileManager.default.isExecutableFile(atPath: "\(folder)/bench") {
            throw UsageError("\(folder): expected a build folder with the program bench")
        }
        let passed = Array(options.operands.dropFirst(2))
        var comparison = BuildComparison()
        for round in 1...rounds {
            var figures: [[String: Double]] = []
            for folder in folders {
                console.note("round \(round) of \(rounds): \(folder)")
                figures.append(try await measure("\(folder)/bench", passed))
            }
            comparison.add(figures[0], figures[1])
        }
        comparison.lines.forEach { console.print($0) }
        return ExitCode.success
    }

    /// The figures of one run, by their paths in its JSON.
    private static func measure(_ program: String, _ arguments: [String]) async throws -> [String: Double] {
        let output = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: output) }
        // Each build finds the schemas that lie above it.
        let environment = ProcessInfo.processInfo.environment.filter { $0.key != "SCHEMAS_DIR" }
        let process = try ChildProcess(
            executable: program, arguments: ["pipeline", "--json"] + arguments, environment: environment,
            standardOutput: .file(path: output.path), standardError: .inherited)
        let end = try await process.waitForEnd(deadline: deadline)
        guard end == .exited(code: 0), let bytes = FileManager.default.contents(atPath: output.path) else {
            throw BenchError("\(program) pipeline: \(end)")
        }
        let document: JSONDocument
        do { document = try JSONDocument(parsing: Array(bytes)) } catch {
            throw BenchError("\(program) pipeline: no JSON: \(error)")
        }
        return figures(of: document.root)
    }

    /// The first measurement's as they stand, and those of others under their number.
    static func figures(of report: JSONValue) -> [String: Double] {
        var figures: [String: Double] = [:]
        let measurements = report["measurements"]?.elements.map { $0 } ?? []
        for (index, measurement) in measurements.enumerated() {
            collect(measurement, index == 0 ? "" : "\(index + 1)", into: &figures)
        }
        return figures
    }

    private static let deadline = Duration.seconds(3_600)

    private static func collect(_ value: JSONValue, _ path: String, into figures: inout [String: Double]) {
        if let number = value.double { figures[path] = number }
        for (key, member) in value.members {
            let name = key.string ?? ""
            collect(member, path.isEmpty ? name : "\(path).\(name)", into: &figures)
        }
    }
}

/// The figures of two builds, round by round.
struct BuildComparison {
    private var rounds: [String: [(first: Double, second: Double)]] = [:]

    /// Adds a round; what only one of the two builds measures is left out.
    mutating func add(_ first: [String: Double], _ second: [String: Double]) {
        for (name, value) in first {
            guard let other = second[name] else { continue }
            rounds[name, default: []].append((value, other))
        }
    }

    var lines: [String] {
        var table = TextTable([
            .init("figure"), .init("first", .right), .init("second", .right), .init("ratio", .right),
            .init("from", .right), .init("to", .right),
        ])
        for (name, values) in rounds.sorted(by: { $0.key < $1.key }) {
            let ratios = values.filter { $0.first != 0 }.map { $0.second / $0.first }.sorted()
            guard let least = ratios.first, let most = ratios.last else { continue }
            table.add([
                name, Self.text(Self.median(values.map(\.first))), Self.text(Self.median(values.map(\.second))),
                Self.text(Self.median(ratios)), Self.text(least), Self.text(most),
            ])
        }
        return table.lines()
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    private static func text(_ value: Double) -> String { FixedPoint.text(value, digits: 2) }
}
