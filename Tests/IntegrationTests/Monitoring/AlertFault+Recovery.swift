import Simulation
import TestSupport
import Testing
import Topology

/// Faults of the recovery from Apple's server, and of the deliveries that it makes up for.
extension AlertFault {
    static let recovery = [failedDeliveries, refusedKey, unreadHistory, longWait, refusedQuestion, lateRefund]

    private static let failedDeliveries = AlertFault(
        name: "Apple cannot deliver, and what is recovered waits for a verify-worker",
        alerts: ["EntitlementsIngestionFailing", "EntitlementsRecoveryMissing"],
        make: { rig in
            let copy = rig.pipeline.copies.first { $0.stage == .verify }
            try await rig.pipeline.stop(try #require(copy))
            let hour: Int64 = 3_600_000
            rig.apple.server.world.generateNotifications(
                count: 20, dates: MonitoringRig.now - 4 * hour...MonitoringRig.now - 3 * hour, failingPercent: 100)
        }, mend: { try await $0.restart(.verify) })

    private static let refusedKey = AlertFault(
        name: "Apple refuses the key", alerts: ["EntitlementsRecoveryNotReady"],
        make: { $0.apple.server.revoke(keyID: SimulatedApple.keyID) }, mend: { try $0.apple.replaceKey() })

    private static let unreadHistory = AlertFault(
        name: "no notification history is read to its end for a while", alerts: ["EntitlementsRecoveryOverdue"],
        prepare: { try await $0.readHistory() }, make: { _ in }, mend: { try await $0.readHistory() })

    private static let longWait = AlertFault(
        name: "Apple asks for two hours without a request", alerts: ["EntitlementsRecoveryHeld"],
        make: { rig in
            rig.apple.server.inject { _ in .rateLimit(.seconds(7_200)) }
            try await rig.readHistory()
        },
        mend: { rig in
            rig.apple.server.inject { _ in nil }
            rig.apple.server.forgetLimits()
            let lifted = try await rig.run("pipeline recover apple --lift")
            #expect(lifted.exitCode == 0, "\(lifted.output)")
        })

    private static let lateRefund = AlertFault(
        name: "a refund request is not answered in time", alerts: ["EntitlementsRefundRequestLate"],
        make: { rig in
            try await rig.pipeline.execute(
                """
                INSERT INTO refund_requests (uuid, environment, bundle_id, transaction_id, original_transaction_id,
                    signed_date_ms, deadline_ms)
                SELECT 'late', 'Production', 'com.example.pro', '1', '1', now_ms - 43200000, now_ms
                FROM (SELECT (extract(epoch FROM now()) * 1000)::int8 AS now_ms) AS clock
                """)
        }, mend: { rig in try await rig.pipeline.execute("DELETE FROM refund_requests") })

    private static let refusedQuestion = AlertFault(
        name: "Apple refuses a question for good", alerts: ["EntitlementsRecoveryUnfinished"],
        make: { rig in
            rig.apple.server.inject { request in
                request.endpoint == .orderLookup ? .error(status: 400, code: 4_000_000) : nil
            }
            try await rig.pipeline.execute(
                """
                INSERT INTO recovery_requests (environment, bundle_id, kind, subject)
                SELECT DISTINCT environment, bundle_id, 'order', 'MK5TTTVWJH' FROM recovery_windows
                """)
        },
        mend: { rig in
            rig.apple.server.inject { _ in nil }
            try await rig.pipeline.execute("DELETE FROM recovery_requests WHERE kind = 'order'")
        })
}
