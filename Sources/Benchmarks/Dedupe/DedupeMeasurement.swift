import JSON
import Operations

/// What one run of `bench dedupe` found.
struct DedupeMeasurement {
    let recordCount: Int
    /// Of one observation.
    let recordBytes: Int
    let recordsPerSecond: Double
    /// Processor time per record, in microseconds.
    let workerMicroseconds: Double
    let postgresMicroseconds: Double
    /// The most that was ever resident, in bytes.
    let residentBytesMax: Int

    private var goals: [Goal] {
        [
            Goal(
                name: "duplicates/s",
                key: "records_per_second",
                value: recordsPerSecond,
                bound: 30_000,
                isCeiling: false
            ),
            Goal(
                name: "worker, MiB resident",
                key: "resident_mebibytes_max",
                value: Double(residentBytesMax) / 1_048_576,
                bound: 64,
                isCeiling: true
            ),
        ]
    }

    var lines: [String] {
        let head =
            "\(Quantity.grouped(recordCount)) duplicates of "
            + "\(Quantity.grouped(recordBytes)) bytes: dedupe-worker "
            + "\(FixedPoint.text(workerMicroseconds, digits: 1)), "
            + "PostgreSQL \(FixedPoint.text(postgresMicroseconds, digits: 1)) µs of CPU a record"
        return [head, ""] + Goal.table(goals)
    }

    var json: String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("benchmark")
            writer.string("dedupe")
            writer.key("records")
            writer.int(recordCount)
            writer.key("record_bytes")
            writer.int(recordBytes)
            writer.key("cpu_microseconds_per_record")
            writer.object { writer in
                writer.key("dedupe-worker")
                writer.double((workerMicroseconds * 100).rounded() / 100)
                writer.key("postgresql")
                writer.double((postgresMicroseconds * 100).rounded() / 100)
            }
            Goal.write(goals, to: &writer)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
