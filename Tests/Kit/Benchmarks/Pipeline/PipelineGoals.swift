import Operations
import Settings
import Topology

/// The goals for the figures of `bench pipeline`; costs are in verifications, so that they hold on
/// any machine.
struct PipelineGoals {
    private let measurements: [PipelineMeasurement]

    /// - Parameter measurements: the first is what the others are compared with.
    init(_ measurements: [PipelineMeasurement]) {
        self.measurements = measurements
    }

    var all: [Goal] {
        guard let first = measurements.first else { return [] }
        return costs(first) + delays(first)
            + measurements.dropFirst().flatMap { growth(from: first, to: $0) }
    }

    private func costs(_ item: PipelineMeasurement) -> [Goal] {
        let residentMax = measurements.flatMap(\.residentBytesMax.values).max() ?? 0
        let isMixed = item.traffic == .mixed
        func cpu(_ name: String, _ key: String, _ time: Double, atMost bound: Double) -> Goal {
            let name = "CPU of \(name), in verifications"
            return Goal(name, "\(key)_verifications", item.verifications(time), atMost: bound)
        }
        let throughput = item.recordsPerSecond * item.verificationMicroseconds / 1_000_000
        let mebibytes = Double(residentMax) / 1_048_576
        let goals: [Goal?] = [
            Goal(
                "records/s × time of a verification",
                "throughput_in_verifications",
                throughput,
                atLeast: 0.48
            ),
            cpu("the four workers", "worker", item.cpu.allWorkers, atMost: 2.2),
            item.besideRecordsPerSecond.map {
                let ratio = item.recordsPerSecond / $0
                return Goal(
                    "records/s / the program beside",
                    "throughput_of_beside",
                    ratio,
                    atLeast: 1.3
                )
            },
            item.cpu.postgres.map {
                cpu("PostgreSQL", "postgresql", $0, atMost: isMixed ? 1.6 : 1.3)
            },
            item.cpu.broker.map { cpu("the broker", "broker", $0, atMost: isMixed ? 1 : 0.6) },
            Goal("largest worker, MiB resident", "resident_mebibytes_max", mebibytes, atMost: 48),
        ]
        return goals.compactMap(\.self)
    }

    private func delays(_ first: PipelineMeasurement) -> [Goal] {
        var goals = measurements.compactMap(locks)
        guard let latency = first.latency else { return goals }
        let times: [(String, String, Double, Double)] = [
            ("a lone purchase, p50", "lone_p50", latency.lonePercentile(50), 20),
            ("a lone purchase, p99", "lone_p99", latency.lonePercentile(99), 50),
            ("half load, p50", "half_load_p50", latency.p50, 100),
            ("half load, p99", "half_load_p99", latency.p99, 200),
        ]
        goals += times.map { name, key, value, bound in
            Goal("\(name), ms", "\(key)_milliseconds", value, atMost: bound)
        }
        goals.append(
            Goal(
                "CPU of all a record, half load / full load",
                "half_load_cpu_of_full_load",
                latency.cpu.all / first.cpu.all,
                atMost: 1.3
            )
        )
        let idle = latency.idleShare.map {
            Goal("idle at half load, %", "idle_percent_at_half_load", $0 * 100, atLeast: 30)
        }
        return goals + [idle].compactMap(\.self)
    }

    /// The goal for the stage that waits most, for each number of copies and partitions.
    private func locks(_ item: PipelineMeasurement) -> Goal? {
        let (setup, first) = (item.setup, measurements[0].setup)
        var alike = setup
        alike.partitions = first.partitions
        alike.copies = first.copies
        guard alike == first, let share = item.lockShares.values.max() else { return nil }
        let partitions = Quantity.counted(setup.partitions, "partition")
        let copies = Quantity.counted(setup.copies, "copy", "copies")
        return Goal(
            "waiting for locks, % of a stage's processing time, \(partitions), \(copies)",
            "lock_percent_\(setup.partitions)_partitions_\(setup.copies)_copies",
            share * 100,
            atMost: 5
        )
    }

    /// None if what differs is not held to a bound.
    private func growth(from first: PipelineMeasurement, to other: PipelineMeasurement) -> [Goal] {
        let (before, after) = (first.setup, other.setup)
        let workers = other.cpu.allWorkers / first.cpu.allWorkers
        let server = other.cpu.postgres.flatMap { other in
            first.cpu.postgres.map { other / $0 }
        }
        func ofBoth(_ what: String, _ key: String) -> [Goal] {
            [
                growth("workers' CPU, \(what)", key, workers),
                server.map { growth("PostgreSQL's CPU, \(what)", "postgresql_\(key)", $0) },
            ].compactMap(\.self)
        }
        if after.partitions != before.partitions {
            guard after.copies == before.copies else { return [] }
            let what = "\(before.partitions) → \(after.partitions) partitions"
            return ofBoth(what, "\(after.partitions)_partitions")
        }
        if after.storedCount != before.storedCount {
            let counts = [before, after].map { Quantity.grouped($0.storedCount) }
            let what = counts.joined(separator: " → ") + " stored facts"
            return ofBoth(what, "\(after.storedCount)_stored")
        }
        if after.payloadTimes != before.payloadTimes {
            let later = other.cpu.laterStages / first.cpu.laterStages
            let times = after.payloadTimes
            let what = "later stages' CPU, payload × \(times)"
            return [growth(what, "\(times)_times_the_payload", later)]
        }
        if after.hasNoJIT, let server {
            return [growth("PostgreSQL's CPU, jit off → on", "jit", 1 / server)]
        }
        return []
    }

    private func growth(_ name: String, _ key: String, _ value: Double) -> Goal {
        Goal("growth of the \(name)", "growth_at_\(key)", value, atMost: 1.2)
    }
}
