import JSON
import Testing

@testable import Benchmarks

/// The records that `bench pipeline` publishes.
struct BenchTrafficTests {
    @Test func `mixed traffic has the stated shares, and names each transaction once`() throws {
        let range = 4_000..<8_000
        var counts: [String: Int] = [:]
        var tokens = 0
        for index in range {
            let payload = try JSONDocument(parsing: BenchTraffic.payload(at: index).json).root
            counts[payload["productId"]?.string ?? "", default: 0] += 1
            if payload["revocationDate"] != nil { counts["revoked", default: 0] += 1 }
            if payload["transactionReason"]?.string == "RENEWAL" { counts["renewals", default: 0] += 1 }
            if payload["appAccountToken"] != nil { tokens += 1 }
        }
        let shares = counts.mapValues { Double($0) / Double(range.count) }
        #expect(abs((shares["renewals"] ?? 0) - 0.2) < 0.03)
        #expect(abs((shares["revoked"] ?? 0) - 0.02) < 0.01)
        #expect(abs((shares[BenchTransaction.coins] ?? 0) - 0.05) < 0.03)
        #expect(abs((shares[BenchTransaction.lifetime] ?? 0) - 0.04) < 0.03)
        #expect(abs(Double(tokens) / Double(range.count) - 0.8) < 0.03)
        let indexes = BenchTraffic.indexes(range)
        #expect(Set(indexes.values).count == indexes.count)
        #expect(indexes.values.allSatisfy(range.contains))
        #expect(abs(Double(indexes.count) / Double(range.count) - 0.85) < 0.03)
    }
}
