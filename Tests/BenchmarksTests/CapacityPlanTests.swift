import Foundation
import Operations
import Settings
import TestSupport
import Testing
import Topology

@testable import Benchmarks

/// `bench capacity`: arithmetic on measured costs, so that sizes can be followed by hand.
@Suite struct CapacityPlanTests {
    /// As `bench pipeline --json --broker-pid PID` writes it.
    private static let report = """
        {"benchmark":"pipeline","measurements":[{"partitions":4,"wal_bytes_per_record":2000,
        "cpu_microseconds_per_record":{"verify-worker":100.5,"dedupe-worker":50,"link-worker":60,
        "entitle-worker":90,"broker":40,"postgresql":120}}],"goals":{}}
        """

    private static func plan(_ daily: Double, peak: Double) throws -> CapacityPlan {
        let costs = try #require(CapacityCosts(report: Array(report.utf8)))
        return CapacityPlan(CapacityDemand(recordsPerDay: daily, peakFactor: peak), costs)
    }

    @Test func `a small company needs two copies of each, and the fewest partitions`() throws {
        let plan = try Self.plan(100_000, peak: 10)
        #expect(plan.copies.values.allSatisfy { $0 == 2 })
        #expect(plan.partitions == 8)
        #expect(plan.brokers == 3)
        #expect(plan.connections == 30)
    }

    @Test func `a large one needs what its peak costs, with the reserve`() throws {
        // 10,000 records a second at the peak.
        let plan = try Self.plan(86_400_000, peak: 10)
        #expect(abs((plan.workerCores[.verify] ?? 0) - 1.005) < 0.001)
        #expect(plan.copies[.verify] == 2)
        #expect(plan.copies[.entitle] == 2)
        let larger = try Self.plan(864_000_000, peak: 10)
        // 10.05 cores at 60 %, and 9 cores.
        #expect(larger.copies[.verify] == 17)
        #expect(larger.copies[.entitle] == 15)
        #expect(larger.partitions == 34)
        #expect(abs(larger.postgresCores - 12) < 0.001)
        // 4 cores for each of three replicas, at 60 % of four.
        #expect(larger.brokers == 5)
        #expect(abs(larger.walBytesPerDay - 864_000_000 * 2_000) < 1)
        #expect(abs(larger.databaseBytesPerDay - 864_000_000 * 6_000) < 1)
        let disk = 864_000_000.0 * 7 * 10_000 * 3 * 1.3 / 5
        #expect(abs(larger.brokerDiskBytes - disk) < 1_000)
    }

    @Test(
        arguments: [
            "", "{}", #"{"measurements":[]}"#,
            report.replacingOccurrences(of: #""broker":40"#, with: #""broker":null"#),
            report.replacingOccurrences(of: #""link-worker":60"#, with: #""link-worker":-1"#),
        ]
    )
    func `a report without a cost is refused`(report: String) {
        #expect(CapacityCosts(report: Array(report.utf8)) == nil)
    }

    @Test func `the command reads a report, and says what is missing`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data(Self.report.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let transcript = ConsoleTranscript()
        func run(_ arguments: String...) async -> Int32 {
            await BenchCommand.tool.run(["capacity"] + arguments, on: transcript)
        }
        let costs = "--costs=\(file.path)"
        #expect(await run("--daily=100000", costs) == 0)
        #expect(transcript.output.contains("12 records/s at the peak"))
        #expect(transcript.output.contains("8 partitions of each topic"))
        #expect(await run("--daily=100000", costs, "--json") == 0)
        let json = transcript.output.split(separator: "\n").last ?? ""
        PublishedSchema.expect("bench", ["capacity", "--json"], json.utf8)
        let copies = #""copies":{"verify":2,"dedupe":2,"link":2,"entitle":2}"#
        #expect(transcript.output.contains(copies))
        #expect(await run(costs) == 64)
        #expect(await run("--daily=100000") == 64)
        #expect(await run("--daily=100000", "--costs=/nowhere") == 66)
        try Data("{}".utf8).write(to: file)
        #expect(await run("--daily=100000", costs) == 65)
    }
}
