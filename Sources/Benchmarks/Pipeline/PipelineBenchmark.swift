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
        console.note("warming up with \(Quantity.grouped(options.warmUpCount)) records")
        let record = { (index: Int, topic: String) throws -> ProducerRecord in
            try self.record(index, topic, setup)
        }
        try await rig.publish(0..<options.warmUpCount, to: .verify, record)
        try await rig.waitUntilSettled(options.warmUpCount, by: .entitle)

        let end = options.warmUpCount + options.recordCount
        console.note("measuring \(Quantity.grouped(options.recordCount)) records")
        // The records lie there before the first worker goes on, so that publishing costs nothing.
        rig.workers[.verify]?.signal(SIGSTOP)
        try await rig.publish(options.warmUpCount..<end, to: .verify, record)
        let unitBefore = try VerificationUnit.measure(rig.authority, for: .seconds(1))
        let (run, found) = try await ServerActivity.sampled(rig.database) {
            let before = usage()
            let start = ContinuousClock.now
            rig.workers[.verify]?.signal(SIGCONT)
            try await rig.waitUntilSettled(end, by: .entitle)
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            return (before: before, after: usage(), seconds: seconds)
        }
        let rate = Double(options.recordCount) / run.seconds
        let unitAfter = try VerificationUnit.measure(rig.authority, for: .seconds(1))

        let latency = try await latency(from: end, rate: rate / 2, record)
        let residents = rig.workers.compactMapValues {
            ProcessUsage.residentBytesMax($0.processID)
        }
        func perRecord(_ after: Double?, _ before: Double?) -> Double? {
            guard let after, let before else { return nil }
            return (after - before) / Double(options.recordCount)
        }
        return PipelineMeasurement(
            setup: setup,
            recordCount: options.recordCount,
            recordsPerSecond: rate,
            verificationMicroseconds: (unitBefore + unitAfter) / 2,
            workerMicroseconds: run.after.workers.reduce(into: [:]) { result, element in
                result[element.key] = perRecord(element.value, run.before.workers[element.key])
            },
            brokerMicroseconds: perRecord(run.after.broker, run.before.broker),
            postgresMicroseconds: perRecord(run.after.postgres, run.before.postgres),
            walBytes: found.walBytes / Double(options.recordCount),
            lockShares: found.lockShares,
            residentBytesMax: residents,
            latency: latency
        )
    }

    private struct Usage {
        let workers: [StageDescription: Double]
        let broker: Double?
        let postgres: Double?
    }

    private func usage() -> Usage {
        Usage(
            workers: rig.workers.compactMapValues { ProcessUsage.cpuMicroseconds($0.processID) },
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
        let count = Int(rate * Double(options.latencySeconds))
        console.note("publishing \(Quantity.grouped(Int(rate))) records/s for the latency")
        let topic = rig.layout.prefix + Topic.raw
        // Signed beforehand: signing would disturb the rhythm.
        let records = try (first..<(first + count)).map { try record($0, topic) }
        let producer = try KafkaProducer(configuration: rig.kafka)
        var published: [Int64] = []
        published.reserveCapacity(count)
        var deliveries: [Delivery] = []
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
        try await rig.waitUntilSettled(first + count, by: .entitle)
        return try await latency(of: published, from: first, rate: rate, idle)
    }

    private func latency(
        of published: [Int64],
        from first: Int,
        rate: Double,
        _ idleShare: Double?
    ) async throws -> PipelineMeasurement.Latency? {
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
        guard milliseconds.count == published.count else {
            throw BenchError("\(milliseconds.count) of \(published.count) rows were found")
        }
        milliseconds.sort()
        return PipelineMeasurement.Latency(
            recordsPerSecond: rate,
            p50: milliseconds[milliseconds.count / 2],
            p99: milliseconds[milliseconds.count * 99 / 100],
            idleShare: idleShare,
            hops: try await HopLatency.measure(
                rig,
                since: (published.first ?? 0) / 1_000,
                deadline: .seconds(60)
            )
        )
    }
}
