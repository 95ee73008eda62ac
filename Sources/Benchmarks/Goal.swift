import JSON
import Operations
import Settings

/// A figure and what it has to reach.
struct Goal {
    let name: String
    /// In JSON.
    let key: String
    let value: Double
    let bound: Double
    let isCeiling: Bool

    /// To the digits that are printed.
    var isReached: Bool {
        let scale: Double = digits == 2 ? 100 : 1
        let rounded = (value * scale).rounded() / scale
        return isCeiling ? rounded <= bound : rounded >= bound
    }

    private var digits: Int { bound < 100 ? 2 : 0 }

    static func table(_ goals: [Goal]) -> [String] {
        var table = TextTable([
            .init("goal"), .init("measured", .right), .init("reach", .right), .init(""),
        ])
        for goal in goals {
            table.add([
                goal.name,
                FixedPoint.text(goal.value, digits: goal.digits),
                (goal.isCeiling ? "≤ " : "≥ ")
                    + FixedPoint.text(goal.bound, digits: goal.digits),
                goal.isReached ? "reached" : "missed",
            ])
        }
        return table.lines()
    }

    /// The members `goals`, keys to values, and `reach`, the same keys to what they have to reach.
    static func write(_ goals: [Goal], to writer: inout JSONWriter) {
        writer.key("goals")
        writer.beginObject()
        for goal in goals {
            writer.key(goal.key)
            if goal.value.isFinite {
                writer.double((goal.value * 1_000).rounded() / 1_000)
            } else {
                writer.null()
            }
        }
        writer.endObject()
        writer.key("reach")
        writer.beginObject()
        for goal in goals {
            writer.key(goal.key)
            writer.double(goal.bound)
        }
        writer.endObject()
    }
}

/// Numbers as reports show them.
enum FixedPoint {
    static func text(_ value: Double, digits: Int) -> String {
        guard value.isFinite else { return "–" }
        let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
        let scaled = Int((value * scale).rounded())
        guard digits > 0 else { return String(scaled) }
        let fraction = String(scaled % Int(scale))
        let zeros = String(repeating: "0", count: digits - fraction.count)
        return "\(scaled / Int(scale)).\(zeros)\(fraction)"
    }
}
