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
        var goals = [
            Goal(
                name: "records/s × time of a verification",
                key: "throughput_in_verifications",
                value: item.recordsPerSecond * item.verificationMicroseconds / 1_000_000,
                bound: 0.48,
                isCeiling: false
            ),
            verifications("the four workers", key: "worker", item, item.cpu.allWorkers, bound: 2.2),
        ]
        if let beside = item.besideRecordsPerSecond {
            goals.append(
                Goal(
                    name: "records/s / the program beside",
                    key: "throughput_of_beside",
                    value: item.recordsPerSecond / beside,
                    bound: 1.3,
                    isCeiling: false
                )
            )
        }
        if let postgres = item.cpu.postgres {
            goals.append(
                verifications(
                    "PostgreSQL",
                    key: "postgresql",
                    item,
                    postgres,
                    bound: isMixed ? 1.6 : 1.3
                )
            )
        }
        if let broker = item.cpu.broker {
            goals.append(
                verifications(
                    "the broker",
                    key: "broker",
                    item,
                    broker,
                    bound: isMixed ? 1 : 0.6
                )
            )
        }
        goals.append(
            Goal(
                name: "largest worker, MiB resident",
                key: "resident_mebibytes_max",
                value: Double(residentMax) / 1_048_576,
                bound: 48,
                isCeiling: true
            )
        )
        return goals
    }

    private func verifications(
        _ name: String,
        key: String,
        _ item: PipelineMeasurement,
        _ microseconds: Double,
        bound: Double
    ) -> Goal {
        Goal(
            name: "CPU of \(name), in verifications",
            key: "\(key)_verifications",
            value: item.verifications(microseconds),
            bound: bound,
            isCeiling: true
        )
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
        for (name, key, value, bound) in times {
            goals.append(
                Goal(
                    name: "\(name), ms",
                    key: "\(key)_milliseconds",
                    value: value,
                    bound: bound,
                    isCeiling: true
                )
            )
        }
        goals.append(
            Goal(
                name: "CPU of all a record, half load / full load",
                key: "half_load_cpu_of_full_load",
                value: latency.cpu.all / first.cpu.all,
                bound: 1.3,
                isCeiling: true
            )
        )
        if let idle = latency.idleShare {
            goals.append(
                Goal(
                    name: "idle at half load, %",
                    key: "idle_percent_at_half_load",
                    value: idle * 100,
                    bound: 30,
                    isCeiling: false
                )
            )
        }
        return goals
    }

    /// The goal for the stage that waits most, for each number of copies and partitions.
    private func locks(_ item: PipelineMeasurement) -> Goal? {
        let (setup, first) = (item.setup, measurements[0].setup)
        var alike = setup
        alike.partitions = first.partitions
        alike.copies = first.copies
        guard alike == first, let share = item.lockShares.values.max() else { return nil }
        let partitions = "\(setup.partitions) partition\(setup.partitions == 1 ? "" : "s")"
        let copies = setup.copies == 1 ? "1 copy" : "\(setup.copies) copies"
        return Goal(
            name: "waiting for locks, % of a stage's processing time, \(partitions), \(copies)",
            key: "lock_percent_\(setup.partitions)_partitions_\(setup.copies)_copies",
            value: share * 100,
            bound: 5,
            isCeiling: true
        )
    }

    /// None if what differs is not held to a bound.
    private func growth(
        from first: PipelineMeasurement,
        to other: PipelineMeasurement
    ) -> [Goal] {
        let (before, after) = (first.setup, other.setup)
        let workers = other.cpu.allWorkers / first.cpu.allWorkers
        let server = other.cpu.postgres.flatMap { other in
            first.cpu.postgres.map { other / $0 }
        }
        if after.partitions != before.partitions {
            guard after.copies == before.copies else { return [] }
            return growth(
                "\(before.partitions) → \(after.partitions) partitions",
                "\(after.partitions)_partitions",
                workers: workers,
                server: server
            )
        }
        if after.storedCount != before.storedCount {
            return growth(
                "\(Quantity.grouped(before.storedCount)) → "
                    + "\(Quantity.grouped(after.storedCount)) stored facts",
                "\(after.storedCount)_stored",
                workers: workers,
                server: server
            )
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

    private func growth(
        _ what: String,
        _ key: String,
        workers: Double,
        server: Double?
    ) -> [Goal] {
        [growth("workers' CPU, \(what)", key, workers)]
            + (server.map { [growth("PostgreSQL's CPU, \(what)", "postgresql_\(key)", $0)] } ?? [])
    }

    private func growth(_ name: String, _ key: String, _ value: Double) -> Goal {
        Goal(
            name: "growth of the \(name)",
            key: "growth_at_\(key)",
            value: value,
            bound: 1.2,
            isCeiling: true
        )
    }
}
