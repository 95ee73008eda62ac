import AppStore
import Entitlements
import Foundation
import JSON
import Kafka
import Records
import Simulation
import TestSupport
import Testing

/// Bodies as Apple may sign them next year are accepted, with all their purchases.
///
/// `NEXT_YEAR_BODIES` sets the number of bodies, `NEXT_YEAR_SEED` the seed.
@Suite struct NextYearTests {
    private static func number(_ name: String, else standard: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? standard
    }

    @Test func `no genuine body of next year is refused, and each item becomes facts`() throws {
        let authority = try Minted.authority.get()
        let receipts = try MintedReceipts.authority.get()
        let verifier = try MintedReceipts.verifier()
        let seed = Self.number("NEXT_YEAR_SEED", else: 1)
        var nextYear = NextYear(seed: UInt64(truncatingIfNeeded: seed))
        var kinds: Set<NextYearBody.Kind> = []
        for number in 0..<Self.number("NEXT_YEAR_BODIES", else: 1_500) {
            let body = try nextYear.body(signedBy: authority, receipts)
            let text = String(decoding: body.value, as: UTF8.self)
            switch verifier.verify(body.value) {
            case .success(.items(let items)):
                let transactions = items.count { $0.transaction != nil }
                try #require(transactions == body.transactionsCount, "\(number): \(text)")
                for item in items { try check(item, "\(number): \(text)") }
            case .success(.ignored(let reason)):
                try #require(reason.rawValue == "unknown_kind", "\(number): \(text)")
                try #require(body.transactionsCount == 0, "\(number): \(text)")
            case .success(.undetermined): Issue.record("nobody is asked about revocation")
            case .failure(let refusal):
                let fault = "\(refusal.reason.rawValue), \(refusal.detail)"
                try #require(Bool(false), "\(number): \(fault): \(text)")
            }
            kinds.insert(body.kind)
        }
        #expect(kinds.count == NextYearBody.Kind.allCases.count)
    }

    /// The head agrees with the payload by either reader, and carries it as signed.
    private func check(_ item: VerifiedItem, _ comment: Comment) throws {
        let source = ObservationSource(RecordPosition(topic: "storekit.raw", partition: 0, offset: 0))
        let observation = try Observation(item, source: source)
        let record = observation.record(for: "storekit.verified")
        for read in [try Observation(value: record.value), try Observation(parsing: record.value ?? [])] {
            try #require(read.facts == observation.facts, comment)
            try #require(read.notification == observation.notification, comment)
            try #require(read.record(for: "storekit.verified") == record, comment)
            let signed = item.transaction.map { Array($0.json.rawBytes) }
            try #require(read.payloads[.transaction].map { Array($0) } == signed, comment)
        }
    }
}
