import AppStore
import Entitlements
import Foundation
import JSON
import Operations
import Postgres
import Records
import Simulation
import TestSupport
import Testing
import Topology
import Worker

/// `pipeline history` moves old history out of the tables, and no reader of them sees a difference.
@Suite(.timeLimit(.minutes(10))) struct HistoryArchiveTests {
    private static let anna = Ownership(userID: "anna", rule: .accountToken)

    /// A refund that was reversed, a grace that ended, two versions of an app, a notification.
    private static func observations() throws -> [Observation] {
        try [
            Signed.transaction("1", signed: 1),
            Signed.transaction("1", signed: 2, revoked: 5),
            Signed.transaction("1", signed: 3),
            Signed.renewal("1", signed: 1, graceExpires: 1_500),
            Signed.renewal("1", signed: 2, graceExpires: nil),
            Signed.renewal("1", signed: 3, graceExpires: nil, renewed: 2_000),
            AppDownloadTests.download(signed: 1_000),
            AppDownloadTests.download(signed: 2_000) { $0.applicationVersion = "9.9" },
            Signed.notification("TEST", signed: 1),
        ]
    }

    private static func rig() async throws -> HistoryRig {
        let rig = try await HistoryRig()
        try await rig.worker.own([Signed.key("1"): anna])
        for observation in try observations() {
            _ = try await rig.worker.process([observation])
        }
        _ = try await rig.worker.client.query("DELETE FROM unpublished_changes")
        return rig
    }

    @Test func `only history without readers is archived, and it returns unchanged`() async throws {
        let rig = try await Self.rig()
        #expect(try await rig.archive() == ["revisions": 0, "changes": 0, "notifications": 0])
        try await rig.age(days: 500)
        let history = try await rig.history()
        let rows = try await rig.worker.rows()

        let counted = await rig.run("history", "archive", "--older-than=400d")
        #expect(counted.code == 1)
        #expect(counted.output.contains("revisions: 3 rows would be archived"))
        #expect(try await rig.history() == history)

        let archived = try await rig.archive()
        // The refund, the renewal info without a grace, the older app version.
        #expect(archived["revisions"] == 3)
        #expect(archived["notifications"] == 1)
        let changes = try #require(archived["changes"])
        #expect(changes > 0)
        #expect(try await rig.worker.rows() == rows)
        #expect(try await rig.worker.rowsByHistory() == rows)
        #expect(await rig.run("rebuild").code == 0)
        let sparse = try await rig.history()
        #expect(sparse.count == history.count - 4 - Int(changes))
        #expect(try await rig.archive().values.allSatisfy { $0 == 0 })

        let restored = await rig.restore()
        #expect(restored.code == 0, "\(restored.notes)")
        #expect(restored.output.contains("\(4 + changes) rows restored"))
        #expect(try await rig.history() == history)
        // Nothing of it is published again.
        #expect(try await rig.worker.count("unpublished_changes") == 0)
        #expect(await rig.restore().output.contains("0 rows restored"))
    }

    @Test func `contents that name what a newer one lacks stay`() async throws {
        let rig = try await HistoryRig()
        try await rig.worker.own([Signed.key("1"): Self.anna])
        for observation in try [
            Signed.transaction("1", signed: 1, members: #","appTransactionId":"701""#),
            Signed.transaction("1", signed: 2, token: LinkWorker.anna),
            Signed.transaction("1", signed: 3, expires: 900),
            Signed.transaction("1", signed: 4),
        ] {
            _ = try await rig.worker.process([observation])
        }
        _ = try await rig.worker.client.query("DELETE FROM unpublished_changes")
        try await rig.age(days: 500)
        #expect(try await rig.archive()["revisions"] == 1)
        #expect(await rig.run("rebuild").code == 0)
    }

    @Test func `a record that is published again after its archive changes no row`() async throws {
        let rig = try await Self.rig()
        try await rig.age(days: 500)
        let rows = try await rig.worker.rows()
        _ = try await rig.archive()
        for observation in try Self.observations().reversed() {
            _ = try await rig.worker.process([observation])
        }
        #expect(try await rig.worker.rows() == rows)
        #expect(try await rig.worker.count("unpublished_changes") == 0)
        #expect(await rig.run("rebuild").code == 0)
    }

    @Test func `past knowledge is answered for the kept time, and refused before it`() async throws
    {
        let rig = try await Self.rig()
        try await rig.age(days: 500)
        let asked = "SELECT had_entitlement('anna', 'pro', to_timestamp(0.5), now() - interval "
        let answer = try await rig.text(asked + "'30 days')::text")
        _ = try await rig.archive()
        #expect(try await rig.text(asked + "'30 days')::text") == answer)
        let error = await #expect(throws: PostgresError.self) {
            _ = try await rig.text(asked + "'450 days')::text")
        }
        #expect(error?.sqlState == SQLState("HA001"))
        // The version that the feed publishes again after a copy was killed.
        #expect(
            try await rig.text(
                """
                SELECT count(*)::text FROM user_versions
                WHERE NOT EXISTS (
                    SELECT FROM changes
                    WHERE changes.user_id = user_versions.user_id
                        AND changes.version = user_versions.version)
                """
            ) == "0"
        )
        #expect(await rig.restore().code == 0)
        _ = try await rig.text(asked + "'450 days')::text")
    }

    @Test func `an empty archive leaves no file, and moves no limit of the kept time`() async throws
    {
        let rig = try await Self.rig()
        #expect(try await rig.archive().values.allSatisfy { $0 == 0 })
        #expect(rig.files.isEmpty)
        #expect(try await rig.worker.count("history_archives") == 0)
        _ = try await rig.text(
            """
            SELECT had_entitlement(
                'anna', 'pro', to_timestamp(0.5), now() - interval '500 days')::text
            """
        )
    }

    @Test func `changes waiting to be published stay`() async throws {
        let rig = try await Self.rig()
        try await rig.age(days: 500)
        _ = try await rig.worker.client.query(
            """
            INSERT INTO unpublished_changes (user_id, version)
            SELECT user_id, version FROM changes
            """
        )
        #expect(try await rig.archive()["changes"] == 0)
    }

    @Test func `a content that becomes the newest again during an archive stays`() async throws {
        let rig = try await Self.rig()
        try await rig.age(days: 500)
        let archiving = try await rig.worker.client.transaction { transaction in
            _ = try await transaction.query(
                "SELECT lock_projection(ARRAY['Production'], ARRAY['1'])"
            )
            let archiving = Task { try await rig.archive() }
            await eventually {
                let waiting = try? await rig.worker.client.query(
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                )
                return waiting?[0].int8(0) == 1
            }
            // As entitle-worker does when the refund is signed again.
            _ = try await transaction.query(
                """
                UPDATE transactions SET content_hash = (
                    SELECT content_hash FROM revisions
                    WHERE kind = 'transaction' AND payload ->> 'revocationDate' IS NOT NULL)
                """
            )
            return archiving
        }
        #expect(try await archiving.value["revisions"] == 2)
        let newest = try await rig.worker.client.query(
            "SELECT count(*) FROM transactions JOIN revisions USING (content_hash)"
        )
        #expect(newest[0].int8(0) == 1)
    }

    @Test func `a wrong age, no folder, and incomplete archive files are refused`() async throws {
        let rig = try await Self.rig()
        try await rig.age(days: 500)
        #expect(await rig.run("history", "archive").code == 64)
        #expect(await rig.run("history", "archive", "--older-than=29d").code == 64)
        #expect(await rig.run("history", "archive", "--older-than=400d", "--yes").code == 64)
        _ = try await rig.archive()
        let file = try #require(rig.files.first { $0.contains("revisions") })
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: true)
        let brokenFiles: [[Substring]] = [Array(lines.dropLast()), Array(lines.dropFirst()), []]
        for broken in brokenFiles {
            try broken.joined(separator: "\n").write(
                toFile: file,
                atomically: false,
                encoding: .utf8
            )
            #expect(await rig.run("history", "restore", file).code == 65)
        }
        #expect(await rig.run("history", "restore", "/nowhere").code == 66)
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        #expect(await rig.run("history", "restore", file, "--json").code == 0)
    }

    @Test func `half a line of a transaction that was not committed is left out`() async throws {
        let rig = try await Self.rig()
        try await rig.age(days: 500)
        let history = try await rig.history()
        _ = try await rig.archive()
        let file = try #require(rig.files.first { $0.contains("changes") })
        let whole = try String(contentsOfFile: file, encoding: .utf8)
        func restoring(_ text: String) async throws -> (code: Int32, output: String, notes: String)
        {
            try text.write(toFile: file, atomically: false, encoding: .utf8)
            return await rig.restore()
        }
        // As a full disk leaves it.
        let torn = whole + #"{"user_id":"anna","vers"#
        let last = torn.split(separator: "\n").count
        let complete = try await restoring(torn)
        #expect(complete.code == 65)
        #expect(complete.notes.contains("\(file), line \(last): it is not JSON"), "\(complete)")
        _ = try await rig.worker.client.query("UPDATE history_archives SET row_count = NULL")
        let inside = try await restoring(torn + "\n{}\n")
        #expect(inside.code == 65 && inside.notes.contains("line \(last)"), "\(inside)")
        let restored = try await restoring(torn)
        #expect(restored.code == 0, "\(restored)")
        #expect(try await rig.history() == history)
        _ = try await rig.text("SELECT require_history(now() - interval '450 days')::text")
    }
}
