import AppStore
package import Commands
import Settings
package import Store

enum GroupsCommand: DeadLetterCommand {
    static let name = "groups"
    static let summary =
        "Groups dead letters that look alike: refused for the same reason, with the same leaf "
        + "certificate, bundle ID, source topic and producer. The trend compares the last "
        + "\(DeadLetterGroupTable.trendHours) hours with as many before."
    static let options: [CommandOption] = FilterOptions.options + [ListCommand.limitOption, .wide]

    static func run(_ context: ToolContext) async throws -> Int32 {
        let query = try FilterOptions.query(context.arguments, now: context.now)
        let limit = try ListCommand.limit(context.arguments)
        let index = try await context.database()
        let standing = try await context.standing(of: index)
        let groups = try await DeadLetterGroupTable.largest(query, now: context.now, limit: limit, on: index)
        context.console.print(groups, DeadLetterGroup.columns, context.arguments) {
            $0.openLetters > 0 && $0.recent > $0.before
        }
        let bound = groups.count == limit ? " at most" : ""
        context.console.note("\(groups.count) groups\(bound), \(standing.text)")
        return ExitCode.found(groups.count)
    }
}

extension DeadLetterGroup {
    package static let columns: [ReportColumn<DeadLetterGroup>] = [
        .init("reason", lengthMax: 40, \.reason), .init("group", \.id), .init("letters", rank: 1, \.letters),
        .init("open", \.openLetters), .words("trend, \(DeadLetterGroupTable.trendHours) h", rank: 2, \.trend),
        .member("recent", \.recent), .member("before", \.before), .init("certificate", rank: 5, lengthMax: 12, \.leaf),
        .init("bundle_id", title: "bundle", rank: 4, lengthMax: 32, \.bundleID),
        .init("source_topic", title: "source", rank: 6, lengthMax: 40, \.sourceTopic),
        .init("producer", rank: 7, lengthMax: 32, \.producer), .init("first_at", title: "first", rank: 8, \.firstAt),
        .init("last_at", title: "last", rank: 3, \.lastAt),
    ]

    /// The trend, such as `grows 12 ← 3`: letters of the last hours, and of as many hours before.
    private var trend: String {
        let word = recent > before ? "grows" : recent < before ? "shrinks" : "even"
        return recent == 0 && before == 0 ? "quiet" : "\(word) \(recent) ← \(before)"
    }
}
