import AppStore
import Foundation
import JSON
import Simulation
import TestSupport
import Testing

/// The cost of a body depends only on its size: each hostile body is compared with one of the same
/// size and shape that has plain content at the same position.
@Suite(.serialized) struct BodyCostTests {
    struct Pair: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// Bound relative to the plain body's cost; a debug build reads plain content far faster.
        let bound: Double
        let hostile: @Sendable () throws -> [UInt8]
        let plain: @Sendable () throws -> [UInt8]

        init(
            _ description: String, bound: Double = 16, hostile: @escaping @Sendable () throws -> [UInt8],
            plain: @escaping @Sendable () throws -> [UInt8]
        ) {
            testDescription = description
            self.bound = bound
            self.hostile = hostile
            self.plain = plain
        }
    }

    static let receipts: [Pair] = [
        Pair("regional indicators in a receipt of iOS 6", bound: 3) {
            HostileBody.legacyReceipt(of: "\u{1F1E6}\u{1F1E7}")
        } plain: {
            HostileBody.legacyReceipt(of: "aaaaaaaa")
        },
        Pair("accents in a receipt of iOS 6", bound: 3) {
            HostileBody.legacyReceipt(of: "\u{301}\u{301}\u{301}\u{301}")
        } plain: {
            HostileBody.legacyReceipt(of: "aaaaaaaa")
        },
    ]

    static let keys: [Pair] = [
        Pair("escaped keys that begin alike, few and long") {
            HostileBody.objects(of: 31) { #"\u0061"# + String(repeating: "a", count: 16_000) + "\(10 + $0)" }
        } plain: {
            HostileBody.objects(of: 31) { "\(10 + $0)" + String(repeating: "a", count: 16_006) }
        },
        Pair("keys that differ in one byte, few and long") {
            HostileBody.objects(of: 31) { key in
                let tail = String(repeating: "a", count: 100)
                return String(repeating: "a", count: 15_900) + "\(10 + key)" + tail
            }
        } plain: {
            HostileBody.objects(of: 31) { "\(10 + $0)" + String(repeating: "a", count: 16_000) }
        },
        Pair("escaped keys, many") {
            HostileBody.objects(of: 30_000) { #"\u0061aaaa"# + "\(10_000 + $0)" }
        } plain: {
            HostileBody.objects(of: 30_000) { "aaaaaaaaaa\(10_000 + $0)" }
        },
    ]

    static let claims: [Pair] = [
        Pair("many members beside many items") {
            try history(beside: (0..<25_000).map { "\"k\($0)\":0" }.joined(separator: ","))
        } plain: {
            let values = (0..<25_000).map { "[\($0)]" }.joined(separator: ",")
            return try history(beside: "\"k\":[\(values)]")
        },
        Pair("many escaped members beside many items") {
            try history(beside: (0..<25_000).map { #""\u006b\#($0)":0"# }.joined(separator: ","))
        } plain: {
            let values = (0..<25_000).map { "[\($0)]" }.joined(separator: ",")
            return try history(beside: "\"k\":[\(values)]")
        },
    ]

    private static let tokens = Result {
        try (0..<60).map { index in try Minted.transaction { $0.transactionID = "\(index)" } }
    }

    private static func history(beside members: String) throws -> [UInt8] {
        let list = try tokens.get().map { "\"\(String(decoding: $0, as: UTF8.self))\"" }
        return Array("{\(members),\"signedTransactions\":[\(list.joined(separator: ","))]}".utf8)
    }

    /// The least of several runs, as other programs only ever add to one.
    private static func cost(_ body: [UInt8], _ verifier: Verifier) -> Double {
        (0..<3).map { _ in
            let start = threadSeconds()
            _ = verifier.verify(body)
            return threadSeconds() - start
        }.min() ?? 0
    }

    private static func threadSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    @Test(arguments: receipts + keys + claims)
    func `a body filled with what is costly costs about as much as a plain one`(pair: Pair) throws {
        let verifier = try Minted.verifier()
        let (hostile, plain) = (try pair.hostile(), try pair.plain())
        let ratio = Self.cost(hostile, verifier) / Self.cost(plain, verifier)
        #expect(ratio < pair.bound, "\(pair.testDescription)")
    }
}
