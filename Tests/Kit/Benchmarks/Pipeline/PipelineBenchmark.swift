import Commands
import Foundation
import Kafka
import Operations
import Postgres
import Records
import Simulation
import Topology

/// A run of `bench pipeline` on its rig.
struct PipelineBenchmark {
    let rig: PipelineRig
    let options: PipelineOptions
    let console: Console

    func run(_ setup: PipelineOptions.Setup) async throws -> PipelineMeasurement {
        try await rig.waitUntilAssigned()
        console.note("warming up with \(Quantity.grouped(options.warmUpCount)) records")
        try await rig.publish(0..<options.warmUpCount)
        try await rig.waitUntilSettled()

        console.note("measuring \(Quantity.grouped(options.recordCount)) records, a quarter as many, and none")
        let few = try await fullLoad(options.warmUpCount..<options.measured.lowerBound)
        let full = try await fullLoad(options.measured)
        let (before, idleSeconds) = (usage(), 5.0)
        try await Task.sleep(for: .seconds(idleSeconds))
        let idle = usage().beyond(before, per: idleSeconds)
        let added = full.cpu.beyond(few.cpu, per: 1).beyond(
            idle, times: full.seconds - few.seconds, per: Double(options.recordCount - options.fewCount))
        let rate = Double(options.recordCount) / full.seconds
        let latency = try await latency(from: options.measured.upperBound, rate: rate / 2)
        if options.beside != nil { console.note("measuring the program beside") }
        let beside = try await options.beside?.recordsPerSecond(rig, options)
        return PipelineMeasurement(
            setup: setup, recordCount: options.recordCount, recordsPerSecond: rate,
            verificationMicroseconds: full.verificationMicroseconds, cpu: added, idle: idle,
            walBytes: full.found.walBytes / Double(options.recordCount), activity: full.activity,
            lockShares: full.lockShares, residentBytesMax: rig.residentBytesMax, latency: latency,
            besideRecordsPerSecond: beside)
    }

    private struct FullLoad {
        /// Processor time of the whole run.
        let cpu: CPUMicroseconds
        let activity: [StageDescription: WorkerActivity]
        let found: ServerActivity.Findings
        let seconds: Double
        let verificationMicroseconds: Double

        /// The waits as shares of the time in which each stage processes.
        var lockShares: [StageDescription: Double] {
            activity.reduce(into: [:]) { shares, element in
                guard let waiting = found.lockSeconds[element.key], element.value.processing > 0 else { return }
                shares[element.key] = waiting / element.value.processing
            }
        }
    }

    /// The records are there before the first worker continues, so that publishing costs nothing.
    private func fullLoad(_ indices: Range<Int>) async throws -> FullLoad {
        // A worker that is stopped answers nobody.
        let activityBefore = rig.activity
        rig.signal(SIGSTOP, to: .verify)
        try await rig.publish(indices)
        let unitBefore = try VerificationUnit.measure(rig.authority, for: .seconds(1))
        let (run, found) = try await ServerActivity.sampled(rig.database) {
            let (before, start) = (usage(), ContinuousClock.now)
            rig.signal(SIGCONT, to: .verify)
            try await rig.waitUntilSettled()
            return (seconds: (ContinuousClock.now - start) / .seconds(1), cpu: usage().beyond(before, per: 1))
        }
        let activity = rig.activity
        let unitAfter = try VerificationUnit.measure(rig.authority, for: .seconds(1))
        return FullLoad(
            cpu: run.cpu, activity: WorkerActivity.difference(activity, activityBefore), found: found,
            seconds: run.seconds, verificationMicroseconds: (unitBefore + unitAfter) / 2)
    }

    /// The processor time used so far.
    private func usage() -> CPUMicroseconds {
        CPUMicroseconds(
            workers: rig.cpuMicroseconds, broker: options.brokerProcessID.flatMap(ProcessUsage.cpuMicroseconds),
            postgres: rig.postmaster.flatMap(ProcessUsage.treeMicroseconds))
    }
}

extension PipelineBenchmark {
    /// Publishes one at a time, then at a steady rate, and asks PostgreSQL afterwards when each row
    /// was committed.
    private func latency(from first: Int, rate: Double) async throws -> PipelineMeasurement.Latency? {
        guard options.latencySeconds > 0 else { return nil }
        let lonePurchases = try (0..<LonePurchases.allRoundsCount).map { number in
            rig.record(try BenchTraffic.lonePurchase(number, rig.authority))
        }
        let lone = try await LonePurchases.measure(rig, lonePurchases)
        let count = Int(rate * Double(options.latencySeconds))
        console.note("publishing \(Quantity.grouped(Int(rate))) records/s for the latency")
        // Signed beforehand: signing would disturb the rhythm.
        let records = try (first..<(first + count)).map { index in
            rig.record(try BenchTraffic.body(index, rig.authority))
        }
        let producer = try KafkaProducer(configuration: rig.kafka)
        var published: [Int64] = []
        published.reserveCapacity(count)
        var deliveries: [Delivery] = []
        let usageBefore = usage()
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
        try await rig.waitUntilSettled()
        let usageAfter = usage()
        let publishedAt = BenchTraffic.indexes(first..<(first + count)).mapValues { published[$0 - first] }
        guard let milliseconds = try await milliseconds(since: publishedAt) else { return nil }
        return PipelineMeasurement.Latency(
            recordsPerSecond: rate, loaded: Percentiles(of: milliseconds), lone: lone.outcomes, loneHops: lone.hops,
            cpu: usageAfter.beyond(usageBefore, per: Double(count)))
    }

    /// Times from publishing to commit, in milliseconds.
    ///
    /// `nil` if the server does not record commit times.
    ///
    /// - Parameter published: time of publishing by transaction, in UNIX microseconds.
    private func milliseconds(since published: [String: Int64]) async throws -> [Double]? {
        guard let first = published.keys.min() else { return nil }
        let commits = try await PostgresConnection.lend(rig.database) { connection in
            try await BenchDatabase.commits(from: first, on: connection)
        }
        guard let commits else {
            console.note("no latency: the server runs without track_commit_timestamp")
            return nil
        }
        let milliseconds = commits.compactMap { id, microseconds in
            published[id].map { Double(microseconds - $0) / 1_000 }
        }
        guard milliseconds.count == published.count else {
            throw BenchError("\(milliseconds.count) of \(published.count) rows were found")
        }
        return milliseconds
    }
}
