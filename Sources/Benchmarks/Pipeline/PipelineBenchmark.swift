import Foundation
import Kafka
import Records
import Simulation
import Operations
import Postgres
import Topology
import Worker
import Settings

/// One run of `bench pipeline` on its rig.
struct PipelineBenchmark {
    let rig: PipelineRig
    let options: PipelineOptions
    let console: Console

    func run(_ setup: PipelineOptions.Setup) async throws -> PipelineMeasurement {
        let record = { (index: Int, topic: String) throws -> ProducerRecord in
            try self.record(index, topic, setup)
        }
        try await rig.waitUntilAssigned()
        console.note("warming up with \(Quantity.grouped(options.warmUpCount)) records")
        try await rig.publish(0..<options.warmUpCount, to: .verify, record)
        try await rig.waitUntilSettled(options.warmUpCount, by: .entitle)

        let end = options.warmUpCount + options.recordCount
        console.note("measuring \(Quantity.grouped(options.recordCount)) records")
        let full = try await fullLoad(options.warmUpCount..<end, record)
        let latency = try await latency(from: end, rate: full.recordsPerSecond / 2, record)
        return PipelineMeasurement(
            setup: setup,
            recordCount: options.recordCount,
            recordsPerSecond: full.recordsPerSecond,
            verificationMicroseconds: full.verificationMicroseconds,
            cpu: full.cpu,
            walBytes: full.found.walBytes / Double(options.recordCount),
            scannedRows: full.found.scannedRows / Double(options.recordCount),
            activity: full.activity,
            lockShares: full.shares(full.found.lockSeconds),
            growthShares: full.shares(full.found.growthSeconds),
            residentBytesMax: rig.residentBytesMax,
            latency: latency
        )
    }

    private struct FullLoad {
        let cpu: CPUMicroseconds
        let activity: [StageDescription: WorkerActivity]
        let found: ServerActivity.Findings
        let recordsPerSecond: Double
        let verificationMicroseconds: Double

        /// The waits as shares of the time in which each stage processes.
        func shares(_ waits: [StageDescription: Double]) -> [StageDescription: Double] {
            activity.reduce(into: [:]) { shares, element in
                guard let waiting = waits[element.key], element.value.processing > 0 else { return }
                shares[element.key] = waiting / element.value.processing
            }
        }
    }

    /// The records are there before the first worker continues, so that publishing costs nothing.
    private func fullLoad(
        _ indices: Range<Int>,
        _ record: (Int, String) throws -> ProducerRecord
    ) async throws -> FullLoad {
        // A worker that is stopped answers nobody.
        let activityBefore = rig.activity
        rig.signal(SIGSTOP, to: .verify)
        try await rig.publish(indices, to: .verify, record)
        let unitBefore = try VerificationUnit.measure(rig.authority, for: .seconds(1))
        let (run, found) = try await ServerActivity.sampled(rig.database) {
            let before = usage()
            let start = ContinuousClock.now
            rig.signal(SIGCONT, to: .verify)
            try await rig.waitUntilSettled(indices.upperBound, by: .entitle)
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            return (before: before, after: usage(), seconds: seconds)
        }
        let activity = rig.activity
        let unitAfter = try VerificationUnit.measure(rig.authority, for: .seconds(1))
        return FullLoad(
            cpu: run.after.since(run.before, records: indices.count),
            activity: WorkerActivity.difference(activity, activityBefore),
            found: found,
            recordsPerSecond: Double(indices.count) / run.seconds,
            verificationMicroseconds: (unitBefore + unitAfter) / 2
        )
    }

    /// The processor time used so far.
    private func usage() -> CPUMicroseconds {
        CPUMicroseconds(
            workers: rig.cpuMicroseconds,
            broker: options.brokerProcessID.flatMap(ProcessUsage.cpuMicroseconds),
            postgres: rig.postmaster.flatMap(ProcessUsage.treeMicroseconds)
        )
    }

    private func record(
        _ index: Int,
        _ topic: String,
        _ setup: PipelineOptions.Setup
    ) throws -> ProducerRecord {
        ProducerRecord(
            topic: topic,
            key: nil,
            value: try rig.authority.sign(
                BenchTransaction.payload(index, times: setup.payloadTimes)
            ),
            headers: []
        )
    }
}

extension PipelineBenchmark {
    /// Publishes at a steady rate and asks PostgreSQL afterwards when each row was committed.
    private func latency(
        from first: Int,
        rate: Double,
        _ record: (Int, String) throws -> ProducerRecord
    ) async throws -> PipelineMeasurement.Latency? {
        guard options.latencySeconds > 0 else { return nil }
        let idleMilliseconds = try await IdleRoundTrips.measure(rig)
        let count = Int(rate * Double(options.latencySeconds))
        console.note("publishing \(Quantity.grouped(Int(rate))) records/s for the latency")
        let topic = rig.layout.prefix + Topic.raw
        // Signed beforehand: signing would disturb the rhythm.
        let records = try (first..<(first + count)).map { try record($0, topic) }
        let producer = try KafkaProducer(configuration: rig.kafka)
        var published: [Int64] = []
        published.reserveCapacity(count)
        var deliveries: [Delivery] = []
        let activityBefore = rig.activity
        let usageBefore = usage()
        let machine = MachineUsage.read()
        let start = ContinuousClock.now
        while published.count < count {
            let due = min(count, Int((ContinuousClock.now - start) / .seconds(1) * rate) + 1)
            let now = Int64(Date.now.timeIntervalSince1970 * 1_000_000)
            deliveries.append(await producer.enqueue(Array(records[published.count..<due])))
            published += repeatElement(now, count: due - published.count)
            try await Task.sleep(for: .milliseconds(2))
        }
        for delivery in deliveries {
            if let failure = await delivery.report().failures.values.first {
                throw BenchError("a record was not published: \(failure)")
            }
        }
        await producer.close(deadline: .seconds(10))
        let idle = MachineUsage.idleShare(from: machine, to: MachineUsage.read())
        let activity = WorkerActivity.difference(rig.activity, activityBefore)
        try await rig.waitUntilSettled(first + count, by: .entitle)
        let usageAfter = usage()
        guard let milliseconds = try await milliseconds(of: published, from: first) else {
            return nil
        }
        return PipelineMeasurement.Latency(
            recordsPerSecond: rate,
            p50: milliseconds[milliseconds.count / 2],
            p99: milliseconds[milliseconds.count * 99 / 100],
            idleMilliseconds: idleMilliseconds,
            idleShare: idle,
            cpu: usageAfter.since(usageBefore, records: count),
            activity: activity,
            hops: try await HopLatency.measure(
                rig,
                since: (published.first ?? 0) / 1_000,
                deadline: .seconds(60)
            )
        )
    }

    /// From publishing to commit, sorted.
    private func milliseconds(
        of published: [Int64],
        from first: Int
    ) async throws -> [Double]? {
        let commits = try await PostgresConnection.lend(rig.database) { connection in
            try await StoredFacts.commits(from: BenchTransaction.id(first), on: connection)
        }
        guard let commits else {
            console.note("no latency: the server runs without track_commit_timestamp")
            return nil
        }
        var milliseconds: [Double] = []
        for (id, microseconds) in commits {
            guard let index = BenchTransaction.index(ofID: id),
                published.indices.contains(index - first)
            else { continue }
            milliseconds.append(Double(microseconds - published[index - first]) / 1_000)
        }
        guard milliseconds.count == published.count, !milliseconds.isEmpty else {
            throw BenchError("\(milliseconds.count) of \(published.count) rows were found")
        }
        return milliseconds.sorted()
    }
}
