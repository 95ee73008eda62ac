import AppStore
import JSON
import Operations
import Settings

/// The costs of hostile bodies, as a table and as JSON.
///
/// Each is bounded by the good body that it is measured by, and by how many signatures of
/// certificates it takes; beside it stands its cost in records whose chain is known.
struct HostileReport {
    let costs: [HostileBenchmark.Cost]

    var areBounded: Bool { costs.allSatisfy(\.isBounded) }

    var lines: [String] {
        var table = TextTable([
            .init("hostile body"), .init("refused as"), .init("kB", .right),
            .init("CPU µs", .right), .init("of a record", .right), .init("signatures", .right),
            .init("measured by"), .init("ratio", .right), .init("bound", .right), .init(""),
        ])
        for cost in costs {
            table.add([
                cost.body.name,
                cost.body.reason.rawValue,
                FixedPoint.text(Double(cost.body.bodies[0].count) / 1_000, digits: 1),
                FixedPoint.text(cost.microseconds, digits: 1),
                FixedPoint.text(cost.recordRatio, digits: 2),
                "\(cost.signatures) ≤ \(cost.body.signaturesMax)",
                cost.body.yardstick.rawValue,
                FixedPoint.text(cost.ratio, digits: 2),
                "≤ " + FixedPoint.text(cost.body.bound, digits: 2),
                cost.isBounded ? "held" : "EXCEEDED",
            ])
        }
        return table.lines()
    }

    /// The member `hostile`: names to ratios.
    func write(to writer: inout JSONWriter) {
        writer.key("hostile")
        writer.beginObject()
        for cost in costs {
            writer.key(cost.body.name)
            writer.double((cost.ratio * 1_000).rounded() / 1_000)
        }
        writer.endObject()
    }
}
