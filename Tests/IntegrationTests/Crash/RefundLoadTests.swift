import Foundation
import Postgres
import Simulation
import TestSupport
import Testing
import Worker

extension PipelineTests {
    /// Apple's refund requests from the notification to the decision, beside other work.
    @Suite(.timeLimit(.minutes(60))) struct RefundLoadTests {
        /// `REFUND_REQUESTS` and `REFUND_KILLS` set how many; the measured run has 10,000 and 100.
        ///
        /// Two hours of outage pass by moving the requests and what waits for them back in time.
        @Test(.needsBuiltWorkers) func `of many refund requests the consented ones are answered, whatever fails`()
            async throws
        {
            let environment = ProcessInfo.processInfo.environment
            let count = environment["REFUND_REQUESTS"].flatMap { Int($0) } ?? 60
            let kills = environment["REFUND_KILLS"].flatMap { Int($0) } ?? 4
            try await RefundLoadRig.run(count) { rig in
                try await rig.sell()
                // The last tenth comes during the outage.
                let asked = Array(1...count * 9 / 10)
                let consented = Set((1...count).filter { RefundLoadRig.isConsented($0) })
                let early = consented.filter { asked.contains($0) }
                rig.apple.server.inject { $0.refundFault }
                try rig.ask(asked)
                for number in 1..<kills {
                    if number == 2 { try rig.apple.replaceKey() }
                    try await rig.kill(number, answered: early.count * number / kills)
                }
                // Failed ones wait longer.
                try await rig.kill(kills, answered: early.count * 9 / 10)

                rig.apple.server.stop()
                try rig.ask(Array(count * 9 / 10 + 1...count))
                try rig.ask(rig.lost, hoursAgo: 10.5)
                try rig.ask(rig.silent, hoursAgo: 9.5)
                try await rig.kill(kills + 1) {
                    let failed = try await rig.count(Self.failed)
                    let isAllAsked = try await rig.isAllAsked()
                    return failed > 0 && isAllAsked
                }
                try await rig.passTime(hours: 2)
                rig.apple.server.inject { _ in nil }
                try rig.apple.server.listen()
                try await rig.kill(kills + 2, answered: consented.count)
                try await rig.work { try await rig.isSettled() }
                try await expectEnd(rig, consented)
                try await rig.printTimes()
            }
        }

        /// Answers that Apple did not take.
        private static let failed = """
            recovery_requests AS waiting JOIN refund_requests AS asked ON asked.uuid = waiting.subject
            WHERE asked.answer IS NOT NULL AND waiting.finished_at IS NULL
              AND waiting.due_at > now() + interval '30 seconds'
            """

        private func expectEnd(_ rig: RefundLoadRig, _ consented: Set<Int>) async throws {
            let words = try rig.reference(of: consented.sorted())
            var answers: [Int: Set<String>] = [:]
            for (id, body) in rig.world.refundAnswers { answers[rig.number(id), default: []].insert(body) }
            #expect(Set(answers.keys) == consented)
            let different = answers.filter { words[$0.key].map { [$0] } != $0.value }
            #expect(
                different.isEmpty, "\(different.prefix(3)), not \(different.keys.prefix(3).map { words[$0] ?? "" })")

            let no = (1...rig.count).filter { $0 % 5 == 4 }.count
            #expect(
                try await rig.texts("outcome || ' ' || count(*) FROM refunds GROUP BY outcome ORDER BY 1") == [
                    "answered \(consented.count)", "late \(rig.lost.count)", "no_consent \(no + rig.silent.count)",
                    "waiting \(rig.count - consented.count - no)",
                ])
            #expect(try await rig.count("refund_requests WHERE outcome = 'answered' AND \(RefundLoadRig.isLate)") == 0)

            let decided = Dictionary(
                uniqueKeysWithValues: rig.world.refundDecisions.map { id, decision in
                    (rig.number(id), decision == .declined ? "declined" : "refunded")
                })
            let shown = try await rig.texts("transaction_id || ' ' || decision FROM refunds WHERE decision IS NOT NULL")
            #expect(Set(shown) == Set(decided.map { "\(rig.id($0.key)) \($0.value)" }))
            #expect(Set(decided.values).count == 2 && decided.count < consented.count)
            let refunds = rig.world.refundDecisions.values.filter { $0 != .declined }.count
            #expect(
                try await rig.count("ledger WHERE revocation_date_ms > 0 AND transaction_id LIKE '7000%'") == refunds)
            #expect(try await rig.texts("DISTINCT request_reason FROM refunds ORDER BY 1") == rig.reasons.sorted())
        }
    }
}

extension AppleRequest {
    /// The fault of three in forty answers to refund requests.
    fileprivate var refundFault: AppleFault? {
        guard [.consumption, .consumptionV1].contains(endpoint) else { return nil }
        switch number % 40 {
        case 7: return .error(status: 500, code: nil)
        case 17: return .cutBody
        case 27: return .rateLimit(.milliseconds(500))
        default: return nil
        }
    }
}
