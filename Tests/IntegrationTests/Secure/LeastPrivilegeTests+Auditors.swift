import Foundation
import Postgres
import Simulation
import Store
import TestSupport
import Testing
import Topology

extension PipelineTests.LeastPrivilegeTests {
    /// The actions of auditors, investigators and replayers, and the refusals that each meets.
    static func expectAuditors(_ errands: Errands) async throws {
        let sendable = try await refuse(2, errands)
        let forged = try await errands.letters("reason <> 'bundle_mismatch' AND value_state = 'original' LIMIT 2")
        try await errands.expect(reading(sendable[0], errands) + deciding(forged[0]), of: "dead-letter")
        try await expectReplays(errands, sendable[0])
        try await errands.expect(
            [
                .init(
                    "investigator", "redact \(forged[1]) --why asked-for", exitCode: 78,
                    says: ["record_dead_letter_replay", "pipeline grants"]),
                .init("auditor", "redact \(forged[1]) --why asked-for", exitCode: 78),
                .init("dead-letter-replay", "redact \(forged[1]) --why asked-for"),
            ], of: "dead-letter")
        try await expectConsoles(errands, sendable[1], forged[0])
    }

    /// Makes bodies refused by a typing error in the settings, and corrects it.
    ///
    /// - Returns: the IDs of their dead letters, which are accepted when they are sent again.
    private static func refuse(_ count: Int, _ errands: Errands) async throws -> [String] {
        let pipeline = errands.pipeline
        let worker = try #require(pipeline.copies.first { $0.stage == .verify })
        func reload(_ settings: String) async throws {
            let times = worker.log.events("settings reloaded").count
            try settings.write(toFile: errands.settingsPath, atomically: true, encoding: .utf8)
            await eventually("verify-worker reads its settings") {
                worker.log.events("settings reloaded").count > times
            }
        }
        let right = try String(contentsOfFile: errands.settingsPath, encoding: .utf8)
        let wrong = pipeline.traffic.apps.map(\.bundleID).reduce(right) { text, bundleID in
            text.replacing("\"\(bundleID)\"", with: "\"typo.\(bundleID)\"")
        }
        try await reload(wrong)
        try await pipeline.publish(
            pipeline.traffic.items.filter { $0.kind == .purchase && $0.expectedRefusal == nil }.prefix(count))
        try await pipeline.settle()
        try await reload(right)
        try await errands.expect([.init("dead-letter-index", "index --until-end")], of: "dead-letter")
        return try await errands.letters("reason = 'bundle_mismatch' ORDER BY failed_at DESC, id LIMIT \(count)")
    }

    private static func reading(_ id: String, _ errands: Errands) -> [Errands.Errand] {
        let folder = errands.pipeline.folder
        return [
            .init("auditor", "show \(id)"), .init("auditor", "verify"), .init("auditor", "anchor"),
            .init("auditor", "replays", exitCode: 1), .init("auditor", "export --to \(folder)/auditor"),
            .init(
                "auditor", "export --to \(folder)/originals --with-originals --why backup", exitCode: 78,
                says: ["role investigator", "pipeline grants"]),
            .init(
                "auditor", "show \(id) --reveal --why asked-for", exitCode: 78,
                says: ["record_dead_letter_decision", "role investigator", "pipeline grants"]),
            .init("investigator", "show \(id) --reveal --why asked-for"),
            .init("investigator", "export --to \(folder)/investigator --with-originals --why backup"),
            .init("dead-letter-index", "index --rebuild --yes"), .init("dead-letter-index", "index --until-end"),
            .init("dead-letter-index", "index --prune --yes"),
            .init("auditor", "index --prune --yes", exitCode: 78, says: ["role dead-letter-index", "pipeline grants"]),
        ]
    }

    private static func deciding(_ id: String) -> [Errands.Errand] {
        [
            .init("auditor", "resolve \(id) --why seen", exitCode: 78, says: ["role investigator", "pipeline grants"]),
            .init("investigator", "resolve \(id) --why seen", says: ["1 of 1"]),
            .init("investigator", "reopen \(id) --why seen-too-soon", says: ["1 of 1"]),
        ]
    }

    private static func expectReplays(_ errands: Errands, _ id: String) async throws {
        let sending = ["replay", id, "--send", "--why", "mended"]
        try await errands.expect(
            [
                // Nothing is sent: every reader of dead letters may ask today's verifier.
                .init("investigator", "replay \(id)"),
                .init(
                    "investigator", "replay \(id) --send --why mended", exitCode: 78,
                    says: ["dead_letter_replays", "role dead-letter-replay"]),
            ], of: "dead-letter")
        // The database allows it, but Kafka refuses it to a principal without the right.
        let refused = try await errands.run("dead-letter", sending, as: "investigator", role: "dead-letter-replay")
        #expect(refused.exitCode == 69, "\(refused)")
        #expect(refused.output.contains("AUTHORIZATION_FAILED"), "\(refused)")
        #expect(refused.output.contains("pipeline grants"), "\(refused)")
        try await errands.expect(
            [
                .init("dead-letter-replay", "replay --abandon 1 --why refused"),
                .init("dead-letter-replay", "replay \(id)"),
                .init("dead-letter-replay", "replay \(id) --again --send --why mended", says: ["1 accepted"]),
            ], of: "dead-letter")
    }

    /// A console has the rights that it runs with, whatever its users may do.
    private static func expectConsoles(_ errands: Errands, _ sendable: String, _ forged: String) async throws {
        let replay = [
            ("filter", "id=\(sendable)"), ("why", "mended"), ("rate", "100"), ("share", "10"), ("confirmed", "1"),
        ]
        let (investigating, browser) = try await errands.serve(as: "investigator")
        let page = "/letters/\(forged)"
        #expect(try await browser.get(page).status == 200)
        let reason = [("why", "asked for")]
        #expect(try await browser.submit("\(page)/reveal", reason, from: page).status == 200)
        let decision = [("kind", "suppressed"), ("note", "known")]
        #expect(try await browser.submit("\(page)/state", decision, from: page).status == 303)
        let dryRun = try await browser.get("/replays/new?id=\(sendable)")
        #expect(dryRun.status == 200 && dryRun.body.contains("Begin the replay"), "\(dryRun.body)")
        let refused = try await browser.submit("/replays", replay, from: page)
        #expect(refused.status == 403 && refused.body.contains("dead-letter-replay"))
        #expect(refused.body.contains("pipeline grants"), "\(refused.body)")
        try await investigating.stop()

        let (replaying, other) = try await errands.serve(as: "dead-letter-replay")
        let begun = try await other.submit("/replays", replay, from: page)
        #expect(begun.status == 303, "\(begun.body)")
        let path = try #require(begun.location)
        // An outcome counts once the index has read as far as the topic goes.
        try await errands.expect([.init("dead-letter-index", "index --until-end")], of: "dead-letter")
        try await eventually("the replay has to be completed") { try await other.get(path).body.contains("completed") }
        let accepted = try await errands.pipeline.withDatabase { connection in
            try await connection.query(
                """
                SELECT count(*) FROM dead_letter_actions
                WHERE action = 'replay_accepted' AND who = 'otto'
                """)[0].int8(0)
        }
        #expect(accepted == 1)
        try await replaying.stop()
    }
}

extension Errands {
    /// The IDs of indexed dead letters.
    fileprivate func letters(_ condition: String) async throws -> [String] {
        try await pipeline.withDatabase { connection in
            try await connection.query("SELECT id FROM dead_letters WHERE \(condition)").map { $0.text(0) }
        }
    }
}
