import AppStore
import JSON
import Settings
import Store

/// `dead-letter groups`: dead letters that look alike, the largest groups first.
enum GroupsCommand: DeadLetterCommand {
    static let name = "groups"

    static var syntax: CommandSyntax {
        syntax(
            "Groups dead letters that look alike: refused for the same reason, with the same leaf "
                + "certificate, bundle ID, source topic and producer. The trend compares the last "
                + "\(DeadLetterGroupTable.trendHours) hours with as many before.",
            options: FilterOptions.options + [ListCommand.limitOption, .wide]
        )
    }

    static func run(_ context: ToolContext) async throws -> Int32 {
        let query = try FilterOptions.query(context.arguments, now: context.now)
        let limit = try ListCommand.limit(context.arguments)
        let groups = try await DeadLetterGroupTable.largest(
            query,
            now: context.now,
            limit: limit,
            on: try await context.database()
        )
        if context.isJSON {
            groups.forEach { context.console.print(json: json($0)) }
        } else if !groups.isEmpty {
            context.console.print(table(groups), isWide: context.isWide)
        }
        context.console.note("\(groups.count) groups" + (groups.count == limit ? " at most" : ""))
        return ExitCode.success
    }

    private static func table(_ groups: [DeadLetterGroup]) -> TextTable {
        var rows = TextTable([
            .init("group"), .init("letters", .right, rank: 1), .init("open", .right),
            .init("trend, \(DeadLetterGroupTable.trendHours) h", rank: 2), .init("reason"),
            .init("certificate", rank: 5), .init("bundle", rank: 4), .init("source", rank: 6),
            .init("producer", rank: 7), .init("first", rank: 8), .init("last", rank: 3),
        ])
        for group in groups {
            let cells = [
                group.id, String(group.letters), String(group.openLetters), trend(group),
                Printable.line(group.reason, lengthMax: 40),
                group.leaf.map { Printable.line($0, lengthMax: 12) } ?? "-",
                ListCommand.cell(group.bundleID),
                Printable.line(group.sourceTopic, lengthMax: 40),
                ListCommand.cell(group.producer), group.firstAt.description,
                group.lastAt.description,
            ]
            rows.add(cells, isBad: group.openLetters > 0 && group.recent > group.before)
        }
        return rows
    }

    /// `grows 12 ← 3`: the last hours, and the hours before.
    private static func trend(_ group: DeadLetterGroup) -> String {
        let word =
            group.recent > group.before ? "grows" : group.recent < group.before ? "shrinks" : "even"
        return group.recent == 0 && group.before == 0
            ? "quiet" : "\(word) \(group.recent) ← \(group.before)"
    }

    private static func json(_ group: DeadLetterGroup) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            let texts: [(String, String?)] = [
                ("group", group.id), ("reason", group.reason), ("certificate", group.leaf),
                ("bundle_id", group.bundleID), ("source_topic", group.sourceTopic),
                ("producer", group.producer), ("first_at", group.firstAt.description),
                ("last_at", group.lastAt.description),
            ]
            for case (let name, let text?) in texts {
                writer.key(name)
                writer.string(text)
            }
            let counts = [
                ("letters", group.letters), ("open", group.openLetters),
                ("recent", group.recent), ("before", group.before),
            ]
            for (name, count) in counts {
                writer.key(name)
                writer.int(count)
            }
        }
        return writer.bytes
    }
}
