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

        /// `REFUND_REQUESTS` and `REFUND_KILLS` set how many; the measured run has 10,000 and 100.
        @Test(.needsBuiltWorkers) func `of many refund requests the consented ones are answered, whatever fails`()
            async throws
        {
            let environment = ProcessInfo.processInfo.environment
            let count = environment["REFUND_REQUESTS"].flatMap { Int($0) } ?? 50
            let kills = environment["REFUND_KILLS"].flatMap { Int($0) } ?? 3
            try await RecoveryCrashRig.run(holding: nil) { rig in
                var rig = rig
                rig.consented = "user"
                try await rig.beginReplying()
                try await rig.askRefunds(count)
                // The last ones are refused until the outage, which would else find nothing to answer.
                rig.apple.server.inject { $0.refundFault(refusingAfter: count - 10) }
                let consented = Set((1...count).filter { 1...3 ~= $0 % 5 }.map { "\($0)" })
                for number in 1...kills {
                    if number == 2 { try rig.apple.replaceKey() }
                    let goal = consented.count * number / (kills + 1)
                    try await rig.kill { try await rig.hasAnswered(goal) }
                }
                rig.apple.server.stop()
                _ = try await rig.hasAnswered(0)
                let failed = """
                    recovery_requests AS waiting JOIN refund_requests AS asked ON asked.uuid = waiting.subject
                    WHERE asked.answer IS NOT NULL AND waiting.finished_at IS NULL
                      AND waiting.due_at > now() + interval '30 seconds'
                    """
                try await rig.kill { try await !rig.values(of: "subject", in: failed).isEmpty }
                rig.apple.server.inject { $0.refundFault() }
                try rig.apple.server.listen()
                try await rig.kill { try await rig.hasAnswered(consented.count) }
                let answers = rig.world.refundAnswers
                #expect(Set(answers.map(\.id)) == consented)
                for (id, body) in answers {
                    let share = (Int(id) ?? 0) % 100 * 1_000
                    let words = #""consumptionPercentage":\#(share),"deliveryStatus":"DELIVERED""#
                    #expect(body.contains(words), "\(id) \(body)")
                }
                let ends = "SELECT outcome || ' ' || count(*) FROM refunds GROUP BY outcome ORDER BY 1"
                let found = try await rig.connection.query(ends).map { $0.text(0) }
                let others = Set((1...count).filter { $0 % 5 == 4 }).count
                #expect(
                    found == [
                        "answered \(consented.count)", "no_consent \(others)",
                        "waiting \(count - consented.count - others)",
                    ])
            }
        }
    }
}

extension AppleRequest {
    /// The fault of three in forty answers to refund requests, and of each answer for an ID beyond `id`.
    fileprivate func refundFault(refusingAfter id: Int = .max) -> AppleFault? {
        guard endpoint == .consumption else { return nil }
        guard Int(self.id) ?? 0 <= id else { return .error(status: 500, code: nil) }
        switch number % 40 {
        case 7: return .error(status: 500, code: nil)
        case 17: return .cutBody
        case 27: return .rateLimit(.milliseconds(500))
        default: return nil
        }
    }
}
