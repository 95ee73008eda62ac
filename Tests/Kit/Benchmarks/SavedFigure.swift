import Foundation
import JSON
import Release
import Settings

/// The result of a measurement.
protocol BenchReport {
    var goals: [Goal] { get }
    var lines: [String] { get }
    var json: JSONContent { get }
}

extension BenchReport {
    /// Prints JSON with `--json`, else text; `--save` also appends the figures to a file.
    func publish(_ benchmark: String, _ arguments: CommandArguments, _ console: Console) throws {
        if arguments.isSet("json") {
            console.print(json: json)
        } else {
            lines.forEach { console.print($0) }
        }
        if let folder = arguments.value("save") {
            try SavedFigure.append(goals, to: "\(folder)/\(benchmark).json")
        }
    }
}

/// A figure of a measurement, one line of `deploy/measured/<benchmark>.json`.
struct SavedFigure {
    let goal: Goal
    let commit: String
    let machine: String

    static let benchmarks = ["verify", "dedupe", "pipeline", "dead-letters", "recovery"]

    static let option = CommandOption(
        "save",
        argument: "FOLDER",
        "Append the figures to FOLDER/BENCHMARK.json, as in deploy/measured."
    )

    static func append(_ goals: [Goal], to path: String) throws {
        let machine = machine()
        let date = String(Date.now.formatted(.iso8601).prefix(10))
        let text = goals.map { goal in
            let line: JSONContent = [
                "figure": goal.key, "name": goal.name,
                "value": JSONContent.figure(goal.value, digits: 3), "bound": goal.bound,
                "is_ceiling": goal.isCeiling, "date": date,
                "commit": Release.commit, "machine": machine,
            ]
            return String(decoding: line.bytes, as: UTF8.self) + "\n"
        }.joined()
        let former = FileManager.default.contents(atPath: path) ?? Data()
        try (former + Data(text.utf8)).write(to: URL(filePath: path), options: .atomic)
    }

    static func read(_ path: String) throws -> [SavedFigure] {
        let lines = try Data(contentsOf: URL(filePath: path)).split(separator: UInt8(ascii: "\n"))
        return try lines.map { line in
            let root = try JSONDocument(parsing: Array(line)).root
            guard let key = root["figure"]?.string, let name = root["name"]?.string,
                let bound = root["bound"]?.double, let isCeiling = root["is_ceiling"]?.bool,
                let commit = root["commit"]?.string, let machine = root["machine"]?.string
            else { throw BenchError("\(path): a line that --save has not written") }
            let value = root["value"]?.double ?? .nan
            return SavedFigure(
                goal: Goal(name: name, key: key, value: value, bound: bound, isCeiling: isCeiling),
                commit: commit,
                machine: machine
            )
        }
    }

    /// The newest commit's figures as a table of Markdown, from the least to the most of its runs.
    static func markdown(_ benchmark: String, _ figures: [SavedFigure]) -> [String] {
        guard let newest = figures.last else { return [] }
        let shown = figures.filter { $0.commit == newest.commit && $0.machine == newest.machine }
        var keys: [String] = []
        for figure in shown where !keys.contains(figure.goal.key) { keys.append(figure.goal.key) }
        let rows = keys.compactMap { key -> String? in
            let goals = shown.map(\.goal).filter { $0.key == key }.sorted { $0.value < $1.value }
            guard let least = goals.first, let most = goals.last else { return nil }
            let range = least.text == most.text ? least.text : "\(least.text) to \(most.text)"
            return "| \(least.name) | \(range) | \(least.reach) | \(goals.count) |"
        }
        return [
            "`bench \(benchmark)` of \(newest.commit), \(newest.machine):", "",
            "| Figure | Measured | Reach | Runs |", "|---|---|---|---|",
        ] + rows
    }

    /// `2 cores, AMD EPYC 7B13`.
    private static func machine() -> String {
        let cores = "\(ProcessInfo.processInfo.activeProcessorCount) cores"
        let info = FileManager.default.contents(atPath: "/proc/cpuinfo") ?? Data()
        let model = String(decoding: info, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix("model name") }?.split(separator: ":").last
        return model.map { "\(cores), \($0.trimmingCharacters(in: .whitespaces))" } ?? cores
    }
}

/// `bench figures`: the saved figures as `deploy/measured.md` shows them.
enum FiguresCommand {
    private static let syntax = CommandSyntax(
        "bench figures",
        "Prints the figures that --save has written to a folder, as deploy/measured.md shows them.",
        operands: "FOLDER",
        operandCount: 1...1
    )

    static let command = ToolCommand(syntax: syntax) { options, context in
        for line in try lines(options.operands[0]) { context.console.print(line) }
        return ExitCode.success
    }

    static func lines(_ folder: String) throws -> [String] {
        try SavedFigure.benchmarks.flatMap { benchmark -> [String] in
            let path = "\(folder)/\(benchmark).json"
            guard FileManager.default.fileExists(atPath: path) else { return [] }
            return SavedFigure.markdown(benchmark, try SavedFigure.read(path)) + [""]
        }
    }
}
