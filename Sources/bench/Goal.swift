import JSON
import Operations

/// A figure and what it has to reach.
struct Goal {
    let name: String
    /// In JSON.
    let key: String
    let value: Double
    let bound: Double
    let isCeiling: Bool

    var isReached: Bool { isCeiling ? value <= bound : value >= bound }

    static func table(_ goals: [Goal]) -> [String] {
        var table = TextTable([
            .init("goal"), .init("measured", .right), .init("bound", .right), .init(""),
        ])
        for goal in goals {
            table.add([
                goal.name,
                FixedPoint.text(goal.value, digits: goal.bound < 100 ? 2 : 0),
                (goal.isCeiling ? "≤ " : "≥ ")
                    + FixedPoint.text(goal.bound, digits: goal.bound < 100 ? 2 : 0),
                goal.isReached ? "reached" : "missed",
            ])
        }
        return table.lines()
    }

    /// The member `goals`, keys to values.
    static func write(_ goals: [Goal], to writer: inout JSONWriter) {
        writer.key("goals")
        writer.beginObject()
        for goal in goals {
            writer.key(goal.key)
            writer.double((goal.value * 1_000).rounded() / 1_000)
        }
        writer.endObject()
    }
}
