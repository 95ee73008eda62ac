import JSON
import Operations

/// The result of `bench verify`, as a table and as JSON.
struct VerifyReport {
    private let measurements: [VerifyBenchmark.Measurement]
    private let threads: Int

    init(_ measurements: [VerifyBenchmark.Measurement], threads: Int) {
        self.measurements = measurements
        self.threads = threads
    }

    private func rate(_ item: VerifyBenchmark.Case, threads: Int = 1) -> RateMeter.Rate {
        measurements.first { $0.case == item && $0.threads == threads }?.rate ?? RateMeter.Rate()
    }

    private func cost(_ item: VerifyBenchmark.Case, threads: Int = 1) -> Double {
        rate(item, threads: threads).cpuMicroseconds
    }

    private var goals: [Goal] {
        let (raw, warm) = (cost(.raw), cost(.warm))
        var goals = [
            Goal(
                name: "verifier / OpenSSL alone, one thread",
                key: "warm_to_raw",
                value: raw / warm,
                bound: 0.80,
                isCeiling: false
            ),
            Goal(
                name: "cost of a forged chain / a good record",
                key: "foreign_chain_cost",
                value: cost(.foreignChain) / warm,
                bound: 3,
                isCeiling: true
            ),
            Goal(
                name: "cost of a forged signature / a good record",
                key: "forged_signature_cost",
                value: cost(.forgedSignature) / warm,
                bound: 1,
                isCeiling: true
            ),
        ]
        if threads > 1 {
            let gain = rate(.warm, threads: threads).perSecond / rate(.warm).perSecond
            let rawGain = rate(.raw, threads: threads).perSecond / rate(.raw).perSecond
            goals.append(
                Goal(
                    name: "verifier's gain by \(threads) threads / OpenSSL's gain",
                    key: "gain_to_raw_gain",
                    value: gain / rawGain,
                    bound: 0.90,
                    isCeiling: false
                )
            )
        }
        return goals
    }

    var lines: [String] {
        var table = TextTable([
            .init("case"), .init("threads", .right), .init("CPU µs/record", .right),
            .init("records/s", .right), .init("of OpenSSL", .right),
        ])
        for item in measurements {
            table.add([
                item.case.rawValue,
                String(item.threads),
                FixedPoint.text(item.rate.cpuMicroseconds, digits: 1),
                Quantity.grouped(Int(item.rate.perSecond)),
                FixedPoint.text(
                    cost(.raw, threads: item.threads) / item.rate.cpuMicroseconds,
                    digits: 2
                ),
            ])
        }
        return table.lines() + [""] + Goal.table(goals)
    }

    var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("benchmark")
        writer.string("verify")
        writer.key("measurements")
        writer.beginArray()
        for item in measurements {
            writer.beginObject()
            writer.key("case")
            writer.string("\(item.case)")
            writer.key("threads")
            writer.int(item.threads)
            writer.key("records_per_second")
            writer.double(item.rate.perSecond.rounded())
            writer.key("cpu_microseconds_per_record")
            writer.double((item.rate.cpuMicroseconds * 100).rounded() / 100)
            writer.endObject()
        }
        writer.endArray()
        Goal.write(goals, to: &writer)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
