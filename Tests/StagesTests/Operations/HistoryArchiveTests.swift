import AppStore
import Entitlements
import Foundation
import Operations
import Postgres
import Records
import Simulation
import TestSupport
import Testing
import Topology
import Worker

/// `deploy/postgres/archive.sql` moves old history out of the tables, and no reader of them sees a
/// difference.
@Suite(.timeLimit(.minutes(10))) struct HistoryArchiveTests {
    private static let anna = Ownership(userID: "anna", rule: .accountToken)

    /// A refund that was reversed, a grace that ended, two versions of an app, a notification.
    private static func observations() throws -> [Observation] {
        try [
            Signed.transaction("1", signed: 1), Signed.transaction("1", signed: 2, revoked: 5),
            Signed.transaction("1", signed: 3), Signed.renewal("1", signed: 1, graceExpires: 1_500),
            Signed.renewal("1", signed: 2, graceExpires: nil),
            Signed.renewal("1", signed: 3, graceExpires: nil, renewed: 2_000), AppDownloadTests.download(signed: 1_000),
            AppDownloadTests.download(signed: 2_000) { $0.applicationVersion = "9.9" },
            Signed.notification("TEST", signed: 1),
        ]
    }

    private static func rig() async throws -> HistoryRig {
        let rig = try await HistoryRig()
        try await rig.worker.own([Signed.key("1"): anna])
        for observation in try observations() { _ = try await rig.worker.process([observation]) }
        _ = try await rig.worker.client.query("DELETE FROM unpublished_changes")
        return rig
    }

    @Test func `only history without readers is archived, and the files hold it`() async throws {
        let rig = try await Self.rig()
        #expect(try rig.archive() == ["revisions": 0, "changes": 0, "notifications": 0])
        try await rig.age(days: 500)
        let history = try await rig.history()
        let rows = try await rig.worker.rows()

        let archived = try rig.archive()
        // The refund, the renewal info without a grace, the older app version.
        #expect(archived["revisions"] == 3)
        #expect(archived["notifications"] == 1)
        let changes = try #require(archived["changes"])
        #expect(changes > 0)
        #expect(try await rig.worker.rows() == rows)
        #expect(try await rig.worker.rowsByHistory() == rows)
        #expect(await rig.run("plan", "--facts").code == 0)
        let sparse = try await rig.history()
        #expect(sparse.count == history.count - 4 - Int(changes))
        #expect(try rig.archive().values.allSatisfy { $0 == 0 })

        // The recipe at the head of the script, with the rows back in their tables.
        #expect(rig.files.count == 3)
        for file in rig.files {
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
            #expect(mode as? Int == 0o600)
            let table = try #require(file.split(separator: "/").last?.split(separator: "-").first)
            let run = try ProgramRun(
                "/usr/bin/psql", ["--command", "\\copy \(table) FROM '\(file)' CSV HEADER", rig.url])
            #expect(run.isSuccess)
        }
        #expect(try await rig.history() == history)
    }

    @Test func `the spans of renewal infos that the script keeps are all kinds`() throws {
        let script = try String(
            contentsOf: ReferenceScript.root.appending(path: "deploy/postgres/archive.sql"), encoding: .utf8)
        for kind in RenewalSpan.Kind.allCases {
            #expect(script.contains("old.payload ->> '\(kind.endMember)' IS NULL"))
        }
    }

    @Test func `contents that name what a newer one lacks stay`() async throws {
        let rig = try await HistoryRig()
        try await rig.worker.own([Signed.key("1"): Self.anna])
        for observation in try [
            Signed.transaction("1", signed: 1, members: #","appTransactionId":"701""#),
            Signed.transaction("1", signed: 2, token: LinkWorker.anna),
            Signed.transaction("1", signed: 3, expires: 900), Signed.transaction("1", signed: 4),
        ] { _ = try await rig.worker.process([observation]) }
        _ = try await rig.worker.client.query("DELETE FROM unpublished_changes")
        try await rig.age(days: 500)
        #expect(try rig.archive()["revisions"] == 1)
        #expect(await rig.run("plan", "--facts").code == 0)
    }

    @Test func `contents of rows that do not say yet which one names their owner stay`() async throws {
        let rig = try await HistoryRig()
        for token in [LinkWorker.anna, nil] {
            let signed: Int64 = token == nil ? 2 : 1
            _ = try await rig.worker.process([Signed.transaction("1", signed: signed, token: token)])
        }
        _ = try await rig.worker.client.query(
            "UPDATE transactions SET token_signed_date_ms = NULL, token_content_hash = NULL")
        try await rig.age(days: 500)
        #expect(try rig.archive()["revisions"] == 0)
    }

    @Test func `a run that ends between its files and its deletion loses no row`() async throws {
        let rig = try await Self.rig()
        try await rig.age(days: 500)
        let history = try await rig.history()
        let ended = try await rig.worker.client.transaction { transaction in
            _ = try await transaction.query("SELECT lock_shared('catalog')")
            let archiving = Task.detached { try rig.psql() }
            await eventually {
                let ended = try? await rig.worker.client.query(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_locks
                    WHERE locktype = 'advisory' AND NOT granted
                    """)
                return ended?.isEmpty == false
            }
            return try await archiving.value
        }
        #expect(!ended.isSuccess)
        #expect(rig.files.count == 3)
        #expect(try await rig.history() == history)
        #expect(try rig.archive()["revisions"] == 3)
    }

    @Test func `a record that is published again after its archive changes no row`() async throws {
        let rig = try await Self.rig()
        try await rig.age(days: 500)
        let rows = try await rig.worker.rows()
        _ = try rig.archive()
        for observation in try Self.observations().reversed() { _ = try await rig.worker.process([observation]) }
        #expect(try await rig.worker.rows() == rows)
        #expect(try await rig.worker.count("unpublished_changes") == 0)
        #expect(await rig.run("plan", "--facts").code == 0)
    }

    @Test func `past knowledge is answered for the kept time, and refused before it`() async throws {
        let rig = try await Self.rig()
        try await rig.age(days: 500)
        let asked = "SELECT had_entitlement('anna', 'pro', to_timestamp(0.5), now() - interval "
        let answer = try await rig.text(asked + "'30 days')::text")
        _ = try rig.archive()
        #expect(try await rig.text(asked + "'30 days')::text") == answer)
        let error = await #expect(throws: PostgresError.self) { _ = try await rig.text(asked + "'450 days')::text") }
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
                """) == "0")
    }

    @Test func `an archive without rows leaves no file, and moves no limit of the kept time`() async throws {
        let rig = try await Self.rig()
        #expect(try rig.archive().values.allSatisfy { $0 == 0 })
        #expect(rig.files.isEmpty)
        #expect(try await rig.worker.count("history_archives") == 0)
        _ = try await rig.text(
            """
            SELECT had_entitlement(
                'anna', 'pro', to_timestamp(0.5), now() - interval '500 days')::text
            """)
    }

    @Test func `changes waiting to be published stay`() async throws {
        let rig = try await Self.rig()
        try await rig.age(days: 500)
        _ = try await rig.worker.client.query(
            """
            INSERT INTO unpublished_changes (user_id, version)
            SELECT user_id, version FROM changes
            """)
        #expect(try rig.archive()["changes"] == 0)
    }

    @Test func `a content that becomes the newest again during an archive stays`() async throws {
        let rig = try await Self.rig()
        try await rig.age(days: 500)
        let archiving = try await rig.worker.client.transaction { transaction in
            _ = try await transaction.query("SELECT lock_shared('catalog')")
            let archiving = Task.detached { try rig.archive() }
            await eventually {
                let waiting = try? await rig.worker.client.query(
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
                return waiting?[0].int8(0) == 1
            }
            // As entitle-worker does when the refund is signed again.
            _ = try await transaction.query(
                """
                UPDATE transactions SET content_hash = (
                    SELECT content_hash FROM revisions
                    WHERE kind = 'transaction' AND payload ->> 'revocationDate' IS NOT NULL)
                """)
            return archiving
        }
        #expect(try await archiving.value["revisions"] == 2)
        let newest = try await rig.worker.client.query(
            "SELECT count(*) FROM transactions JOIN revisions USING (content_hash)")
        #expect(newest[0].int8(0) == 1)
    }

    @Test(arguments: [["older_than": "29 days"], ["folder": "/nowhere"], ["older_than": "x"]])
    func `a wrong age and a missing folder change nothing`(_ given: [String: String]) async throws {
        let rig = try await Self.rig()
        try await rig.age(days: 500)
        let history = try await rig.history()
        let end = try rig.psql(given)
        #expect(!end.isSuccess, "\(end.text)")
        #expect(try await rig.history() == history)
        #expect(try await rig.worker.count("history_archives") == 0)
    }

    @Test func `a run takes a bounded number of rows, and the next ones take the others`() async throws {
        let rig = try await Self.rig()
        try await rig.age(days: 500)
        #expect(try rig.psql(["rows": "1"]).text.contains("revisions|1"))
        #expect(try rig.archive()["revisions"] == 2)
    }
}
