import AppStore
import JSON
import Records
import Settings

/// `dead-letter count`: how many by reason, class, stage or hour.
enum CountCommand: DeadLetterCommand {
    static let name = "count"

    enum Grouping: String, CaseIterable, Sendable {
        case reason, hour, stage
        case deadLetterClass = "class"

        func value(_ letter: DeadLetter) -> String {
            switch self {
            case .reason: letter.reason
            case .deadLetterClass: letter.deadLetterClass
            case .stage: letter.stage
            case .hour:
                Timestamp(
                    milliseconds: letter.failedAt.milliseconds / 3_600_000 * 3_600_000
                ).description
            }
        }
    }

    static var syntax: CommandSyntax {
        syntax(
            "Counts dead letters, each once however often it was repeated.",
            options: FilterOptions.options + [
                CommandOption(
                    "by",
                    argument: "WHAT",
                    "Group by reason (the default), class, stage or hour of failure."
                )
            ]
        )
    }

    static func run(_ context: ToolContext) async throws -> Int32 {
        let filter = try FilterOptions.filter(context.arguments, now: context.now)
        let grouping: Grouping = try context.arguments.value("by", as: .choice) ?? .reason
        var fold = DeadLetterFold<String?>()
        var counts: [String: Int] = [:]
        let summary = try await context.topic.read(since: filter.since) { letter, _ in
            let group = filter.matches(letter) ? grouping.value(letter) : nil
            guard case .latest(let replacing) = fold.add(letter, group) else { return }
            if let former = replacing.flatMap({ $0 }) {
                counts[former, default: 0] -= 1
            }
            if let group {
                counts[group, default: 0] += 1
            }
        }
        let groups = counts.filter { $0.value > 0 }.sorted {
            grouping == .hour || $0.value == $1.value ? $0.key < $1.key : $0.value > $1.value
        }
        if context.isJSON {
            context.console.print(json: json(groups, grouping))
        } else {
            table(groups, grouping).forEach { context.console.print($0) }
        }
        let note = "\(summary.records) records read" + ReadingNotes.text(summary, fold)
        context.console.note(note)
        return ExitCode.success
    }

    private static func table(
        _ groups: [(key: String, value: Int)],
        _ grouping: Grouping
    ) -> [String] {
        var rows = TextTable([.init(grouping.rawValue), .init("dead letters", .right)])
        for (group, count) in groups {
            rows.add([Printable.line(group, lengthMax: 60), String(count)])
        }
        rows.add(["total", String(groups.reduce(0) { $0 + $1.value })])
        return rows.lines()
    }

    private static func json(
        _ groups: [(key: String, value: Int)],
        _ grouping: Grouping
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("by")
            writer.string(grouping.rawValue)
            writer.key("counts")
            writer.object { writer in
                for (group, count) in groups {
                    writer.key(group)
                    writer.int(count)
                }
            }
            writer.key("total")
            writer.int(groups.reduce(0) { $0 + $1.value })
        }
        return writer.bytes
    }
}
