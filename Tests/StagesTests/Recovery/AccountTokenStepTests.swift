import Simulation
import TestSupport
import Testing
import Worker

@testable import RecoveryStage

/// Account tokens that are set although the worker dies.
@Suite(.timeLimit(.minutes(10))) struct AccountTokenStepTests {
    /// The steps at which the worker fails, or Apple's server refuses.
    enum Step: CaseIterable {
        /// The token is being made a link.
        case making
        case asking
        /// Apple has set the token, but its answer does not reach the worker.
        case answering
        case marking
    }

    @Test(arguments: Step.allCases) func `a worker that fails at a step sets one token for each purchase`(step: Step)
        async throws
    {
        let rig = try await TokenRig()
        let ids = (1...9).map { "\($0)" }
        for id in ids {
            try await rig.link.link("original_transaction_id", id, "user-\(id)")
            try await rig.sell(.purchase(id))
        }
        try await rig.recovery.wake(tokensToo: false)
        try await rig.turn()
        await rig.worker.outboxes[0].close()
        let isOdd: @Sendable (AppleRequest) -> Bool = { $0.endpoint == .accountToken && $0.number % 2 == 1 }
        switch step {
        case .making: try await rig.recovery.failEverySecond("BEFORE INSERT ON account_links")
        case .marking: try await rig.recovery.failEverySecond("BEFORE UPDATE OF finished_at ON recovery_requests")
        case .answering: rig.recovery.apple.inject { isOdd($0) ? .cutBody : nil }
        case .asking: rig.recovery.apple.inject { isOdd($0) ? .error(status: 500, code: 5_000_001) : nil }
        }
        var deaths = 0
        try await eventually {
            try await rig.run("UPDATE recovery_requests SET due_at = now() WHERE finished_at IS NULL")
            try await rig.restart()
            do { try await rig.turn() } catch { deaths += 1 }
            return try await rig.recovery.count("recovery_requests WHERE result = 'done'") == 9
        }
        #expect(deaths > 2 || step == .asking)
        #expect(try await rig.recovery.count("account_links WHERE kind = 'account_token'") == 9)
        #expect(Set(rig.world.accountTokens).count == 9)
        for id in ids { #expect(try await rig.tokens(of: "user-\(id)") == [rig.world.accountToken(of: id)]) }
    }
}
