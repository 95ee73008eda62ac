import Commands
import JSON
import Operations

/// A figure and what it has to reach.
struct Goal {
    let name: String
    /// The name of the JSON member.
    let key: String
    let value: Double
    let bound: Double
    let isCeiling: Bool

    /// Whether the value reaches its bound, both compared with the digits that are printed.
    var isReached: Bool {
        let scale: Double = digits == 2 ? 100 : 1
        let rounded = (value * scale).rounded() / scale
        return isCeiling ? rounded <= bound : rounded >= bound
    }

    private var digits: Int { bound < 100 ? 2 : 0 }

    /// The value as it is printed.
    var text: String { FixedPoint.text(value, digits: digits) }

    /// The bound as it is printed.
    var reach: String { (isCeiling ? "≤ " : "≥ ") + FixedPoint.text(bound, digits: digits) }

    static func table(_ goals: [Goal]) -> [String] {
        var table = TextTable([.init("goal"), .init("measured", .right), .init("reach", .right), .init("")])
        for goal in goals { table.add([goal.name, goal.text, goal.reach, goal.isReached ? "reached" : "missed"]) }
        return table.lines()
    }

    /// The members `goals`, keys to values, and `reach`, the same keys to their bounds.
    static func json(_ goals: [Goal]) -> JSONContent {
        [
            "goals": JSONContent.object(goals.map { ($0.key, .figure($0.value, digits: 3)) }),
            "reach": JSONContent.object(goals.map { ($0.key, .double($0.bound)) }),
        ]
    }
}

extension Goal {
    init(_ name: String, _ key: String, _ value: Double, atMost bound: Double) {
        self.init(name: name, key: key, value: value, bound: bound, isCeiling: true)
    }

    init(_ name: String, _ key: String, _ value: Double, atLeast bound: Double) {
        self.init(name: name, key: key, value: value, bound: bound, isCeiling: false)
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

extension JSONContent {
    /// A rounded number; null for what was not measured.
    static func figure(_ value: Double?, digits: Int = 2) -> JSONContent {
        guard let value, value.isFinite else { return .null }
        let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
        return .double((value * scale).rounded() / scale)
    }
}
