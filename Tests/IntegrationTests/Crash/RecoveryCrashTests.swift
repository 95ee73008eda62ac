import Foundation
import Postgres
import Simulation
import Testing
import Worker

extension PipelineTests {
    /// `recovery-worker`, killed at each step of its work.
    @Suite(.timeLimit(.minutes(20))) struct RecoveryCrashTests {
        private static let kills = 4

        /// The steps of a page.
        ///
        /// An acknowledgement that is lost leaves the same behind as `marking` undone.
        enum PageStep: CaseIterable {
            case asking, listing, publishing, marking, moving

            var heldStatement: String? {
                switch self {
                case .asking: nil
                case .listing, .publishing: "INSERT ON apple_notifications"
                case .marking: "UPDATE OF published_at ON apple_notifications"
                case .moving: "UPDATE OF page_number ON recovery_windows"
                }
            }
        }

        @Test(.needsBuiltWorkers, arguments: PageStep.allCases)
        func `killed at any step of a page, the worker loses and skips nothing`(step: PageStep) async throws {
            try await RecoveryCrashRig.run(holding: step.heldStatement) { rig in
                let now = Int64(Date().timeIntervalSince1970 * 1_000)
                rig.world.generateNotifications(count: 130, dates: now - 2 * 86_400_000...now - 3_600_000)
                try await rig.beginWindow(now - 3 * 86_400_000..<now)
                for number in 1...Self.kills {
                    switch step {
                    case .asking: try await rig.kill(asking: .notificationHistory, 3, .cutBody)
                    case .publishing: try await rig.killPublishing()
                    case .listing, .marking, .moving: try await rig.killAtGate(undoing: number % 2 == 1)
                    }
                    try await rig.checkCursor()
                }
                try await rig.work {
                    let over = "recovery_windows WHERE completed_at IS NOT NULL"
                    return try await !rig.values(of: "job", in: over).isEmpty
                }
                try await rig.checkCursor()
                #expect(try await rig.values(in: "apple_notifications").count == 130)
                #expect(try await rig.published().count == 130)
            }
        }

        /// The steps of finishing a purchase.
        enum FinishStep: CaseIterable {
            case deciding, asking
            /// Apple has finished the purchase, but its answer does not reach the worker.
            case answering
            case marking

            var heldStatement: String? {
                switch self {
                case .asking, .answering: nil
                case .deciding: "UPDATE OF due_at ON recovery_requests"
                case .marking: "UPDATE OF finished_at ON recovery_requests"
                }
            }
        }

        @Test(.needsBuiltWorkers, arguments: FinishStep.allCases)
        func `killed at any step, the worker finishes each committed purchase, and no other`(step: FinishStep)
            async throws
        {
            try await RecoveryCrashRig.run(holding: step.heldStatement) { rig in
                try await rig.beginFinishing()
                let ids = Set((1...9).map { "\($0)" })
                let uncommitted = "10"
                for id in ids { try await rig.sell(id, rig.connection) }
                try await rig.pipeline.withDatabase { other in
                    try await other.transaction { other in
                        try await rig.sell(uncommitted, other)
                        for number in 1...Self.kills {
                            switch step {
                            case .asking: try await rig.kill(asking: .finish, 2, .error(status: 500, code: nil))
                            case .answering: try await rig.kill(asking: .finish, 1, .cutBody)
                            case .deciding, .marking: try await rig.killAtGate(undoing: number % 2 == 1)
                            }
                            #expect(ids.isSuperset(of: rig.world.finished))
                        }
                        let waiting = "recovery_requests WHERE finished_at IS NULL"
                        try await rig.work { try await rig.values(of: "subject", in: waiting).isEmpty }
                        #expect(Set(rig.world.finished) == ids)
                    }
                }
                try await rig.work { rig.world.finished.contains(uncommitted) }
            }
        }

        /// The steps of setting a purchase's account token.
        enum TokenStep: CaseIterable {
            case linking, asking
            /// Apple has set the token, but its answer does not reach the worker.
            case answering
            case marking

            var heldStatement: String? {
                switch self {
                case .asking, .answering: nil
                case .linking: "INSERT ON account_links"
                case .marking: "UPDATE OF finished_at ON recovery_requests"
                }
            }
        }

        @Test(.needsBuiltWorkers, arguments: TokenStep.allCases)
        func `killed at any step, the worker sets each user's one token`(step: TokenStep) async throws {
            try await RecoveryCrashRig.run(holding: step.heldStatement) { rig in
                let ids = Set((1...9).map { "\($0)" })
                try await rig.beginTokens(ids)
                for number in 1...Self.kills {
                    switch step {
                    case .asking: try await rig.kill(asking: .accountToken, 2, .error(status: 500, code: nil))
                    case .answering: try await rig.kill(asking: .accountToken, 1, .cutBody)
                    case .linking, .marking: try await rig.killAtGate(undoing: number % 2 == 1)
                    }
                    guard step.heldStatement == nil else { continue }
                    // A failed request waits for a minute.
                    _ = try await rig.connection.query("UPDATE recovery_requests SET due_at = now()")
                }
                let waiting = "recovery_requests WHERE finished_at IS NULL"
                try await rig.work { try await rig.values(of: "subject", in: waiting).isEmpty }
                let made = "account_links WHERE user_id LIKE 'user-_'"
                let links = try await rig.values(of: "user_id || ' ' || key", in: made)
                #expect(links == Set(rig.world.accountTokens.map { "user-\($0.originalID) \($0.token)" }))
                #expect(links.count == ids.count)
            }
        }

        /// The steps of answering a refund request.
        enum ReplyStep: CaseIterable {
            case storing, asking
            /// Apple has the answer, but its response does not reach the worker.
            case answering
            case ending

            var heldStatement: String? {
                switch self {
                case .asking, .answering: nil
                case .storing: "UPDATE OF answer ON refund_requests"
                case .ending: "UPDATE OF outcome ON refund_requests"
                }
            }
        }

        @Test(.needsBuiltWorkers, arguments: ReplyStep.allCases)
        func `killed at any step, the worker answers each refund request in the same words`(step: ReplyStep)
            async throws
        {
            try await RecoveryCrashRig.run(holding: step.heldStatement) { rig in
                var rig = rig
                rig.consented = "all"
                try await rig.beginReplying()
                let ids = Set((1...9).map { "\($0)" })
                for id in ids { try await rig.askRefund(id, rig.connection) }
                for number in 1...Self.kills {
                    switch step {
                    case .asking: try await rig.kill(asking: .consumption, 2, .error(status: 500, code: nil))
                    case .answering: try await rig.kill(asking: .consumption, 1, .cutBody)
                    case .storing, .ending: try await rig.killAtGate(undoing: number % 2 == 1)
                    }
                    // An answer that is made twice differs.
                    _ = try await rig.connection.query(
                        "SELECT ledger_debit(user_id, 'coins', 1, 'kill-' || $1) FROM ledger", [.text("\(number)")])
                    _ = try await rig.connection.query("UPDATE recovery_requests SET due_at = now()")
                }
                try await rig.work {
                    try await rig.values(of: "uuid", in: "refund_requests WHERE outcome IS NULL").isEmpty
                }
                let answers = rig.world.refundAnswers
                #expect(Set(answers.map(\.id)) == ids)
                #expect(Set(answers.map { "\($0.id) \($0.body)" }).count == ids.count)
                #expect(try await rig.values(of: "outcome", in: "refund_requests") == ["answered"])
            }
        }
    }
}
