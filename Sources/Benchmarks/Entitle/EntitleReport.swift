import Operations
import Settings

/// What was measured, and how it compares.
struct EntitleReport {
    private let measurements: [EntitleBenchmark.Measurement]

    init(_ measurements: [EntitleBenchmark.Measurement]) {
        self.measurements = measurements
    }

    var lines: [String] {
        table + growth + longSubscriptions
    }

    private var table: [String] {
        var table = TextTable([
            .init("kind"), .init("facts stored", .right), .init("records/s", .right),
            .init("CPU µs/record", .right), .init("PostgreSQL µs/record", .right),
        ])
        for item in measurements {
            table.add([
                item.kind.summary, Quantity.grouped(item.storedFacts),
                Quantity.grouped(Int(item.perSecond)),
                Quantity.grouped(Int(item.cpuMicroseconds.rounded())),
                Quantity.grouped(Int(item.serverMicroseconds.rounded())),
            ])
        }
        return table.lines()
    }

    /// Of the processor time for one record, from the fewest stored facts to the most.
    private var growth: [String] {
        EntitleKind.allCases.compactMap { kind in
            let same = measurements.filter { $0.kind == kind }
                .sorted { $0.storedFacts < $1.storedFacts }
            guard let first = same.first, let last = same.last,
                first.storedFacts < last.storedFacts
            else { return nil }
            let ratio = last.wholeMicroseconds / first.wholeMicroseconds
            return "\(kind.summary): \(Self.text(ratio)) × with "
                + "\(Quantity.grouped(last.storedFacts)) facts"
        }
    }

    private var longSubscriptions: [String] {
        measurements.filter { $0.kind == .longRenewal }.compactMap { long in
            let short = measurements.first {
                $0.kind == .renewal && $0.storedFacts == long.storedFacts
            }
            guard let short else { return nil }
            let ratio = long.wholeMicroseconds / short.wholeMicroseconds
            return "\(long.kind.summary): \(Self.text(ratio)) × the third"
        }
    }

    /// With two digits behind the point.
    private static func text(_ ratio: Double) -> String {
        let hundredths = Int((ratio * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
