package import AppStore
package import Entitlements
package import Records
import Postgres

/// The table `owner_changes`: purchases not projected since their last change of owner.
///
/// `link-worker` adds a row in the transaction that changes the owner, and sends link observations
/// until `entitle-worker` has projected the purchase and removed the row. Nothing else removes it.
package enum OwnerChangeTable {
    /// A purchase whose owner changes in the current transaction.
    ///
    /// `hasRecord`: whether a record of the batch about the purchase is forwarded to
    /// `entitle-worker`, which then projects the purchase.
    package typealias Change = (purchase: PurchaseKey, hasRecord: Bool)

    /// A purchase whose link observation is due.
    package struct Due: Sendable {
        package let key: PurchaseKey
        package let owner: ObservedOwner
        /// The ID of the Apple Account in the app; `nil` if no content of the purchase names it.
        package let account: Identifier?
        /// The ID of the latest owner change.
        package let change: Int64
    }

    /// An owner change that has been projected.
    package typealias Projected = (purchase: PurchaseKey, change: Int64)

    /// The delay after a forwarded record before a link observation is sent as well.
    package static let recordDelay = Duration.seconds(60)
    /// The delay between the first link observation and the second; each further delay is four
    /// times as long, up to `resendDelayMax`.
    private static let resendDelayMin = Duration.seconds(60)
    private static let resendDelayMax = Duration.seconds(3_600)
    /// Maximum purchases with a link observation in flight.
    ///
    /// A purchase not projected within `inFlightMax` no longer counts, so a stopped
    /// `entitle-worker` accumulates observations of at most this many purchases in that time.
    package static let inFlightCountMax = 5_000
    package static let inFlightMax = Duration.seconds(300)

    /// - Parameter sends: number of link observations sent, including this one.
    package static func resendDelay(afterSends sends: Int) -> Duration {
        let doublings = 2 * min(max(sends - 1, 0), 16)
        return min(resendDelayMin * (1 << doublings), resendDelayMax)
    }

    /// Marks purchases for projection, in the transaction that changes their owners.
    ///
    /// Locks rows in key order. The other statements skip locked rows, so they never wait.
    package static let record = Statement<[Change], Void>(
        [
            .rows(
                "new",
                PurchaseKey.columns.of(\.purchase) + [
                    Column("delay_ms") { $0.hasRecord ? recordDelay.wholeMilliseconds : 0 }
                ]
            ) { $0.sorted { $0.purchase < $1.purchase } }
        ],
        """
        INSERT INTO owner_changes AS known (\(PurchaseKey.columns.names()), send_due_at)
        SELECT \(PurchaseKey.columns.names()), now() + delay_ms * interval '1 millisecond'
        FROM $new
        ON CONFLICT (original_transaction_id, environment, bundle_id) DO UPDATE SET
            change_id = excluded.change_id,
            send_due_at = least(known.send_due_at, excluded.send_due_at),
            sends = 0
        """)

    static let isAnyDue = "EXISTS (SELECT FROM owner_changes WHERE send_due_at <= now())"

    /// Returns the purchases with a due link observation, longest wait first, and schedules the
    /// next observation.
    ///
    /// The caller must commit before sending: otherwise the projection could find the row locked
    /// and skip it. Skips rows locked by other transactions.
    package static let take = Statement<Void, Due>(
        [
            .value("in_flight_ms") { _ in inFlightMax.wholeMilliseconds },
            .value("unlinked") { _ in OwnershipRule.unlinked }, .values("delays_ms") { _ in resendDelaysMilliseconds },
        ],
        returning: RowReader(
            Due.init, PurchaseKey.reader, RowReader(ObservedOwner.init, "user_id", "rule"), "account", "change_id"),
        """
        WITH due AS (
            SELECT \(PurchaseKey.columns.names()) FROM owner_changes
            WHERE send_due_at <= now() ORDER BY send_due_at
            LIMIT least(500, \(inFlightCountMax) - (
                SELECT count(*) FROM (
                    SELECT FROM owner_changes
                    WHERE sent_at > now() - $in_flight_ms * interval '1 millisecond'
                    LIMIT \(inFlightCountMax)
                ) AS sent
            ))
            FOR NO KEY UPDATE SKIP LOCKED
        ), taken AS (
            UPDATE owner_changes AS change SET
                sends = change.sends + 1,
                sent_at = now(),
                send_due_at = now() + interval '1 millisecond'
                    * ($delays_ms)[least(change.sends + 1, \(resendDelaysMilliseconds.count))]
            FROM due
            WHERE \(PurchaseKey.columns.equal("change", "due"))
            RETURNING \(PurchaseKey.columns.names(of: "change")), change.change_id
        )
        SELECT \(PurchaseKey.columns.names(of: "taken")), owner.user_id,
               coalesce(owner.rule, $unlinked) AS rule, (
                   SELECT fact.app_transaction_id FROM ownership_facts AS fact
                   WHERE \(PurchaseKey.columns.equal("fact", "taken")) AND fact.app_transaction_id IS NOT NULL
                   LIMIT 1
               ) AS account, taken.change_id
        FROM taken
        LEFT JOIN LATERAL (
            SELECT known.user_id, known.rule FROM owners AS known
            WHERE \(PurchaseKey.columns.equal("known", "taken"))
            OFFSET 0
        ) AS owner ON true
        """)

    private static let resendDelaysMilliseconds = (1...5).map { resendDelay(afterSends: $0).wholeMilliseconds }

    /// Makes observations due again after they could not be sent.
    ///
    /// Skips purchases that were projected or have a later change, and locked rows: their next
    /// observation is scheduled already.
    package static let putBack = Statement<[Due], Void>(
        [.rows("asked", PurchaseKey.columns.of(\.key) + [Column("change_id", \.change)])],
        """
        WITH unsent AS (
            SELECT known.*
            FROM $asked
            CROSS JOIN LATERAL (\(lock("FOR NO KEY UPDATE SKIP LOCKED"))) AS known
        )
        UPDATE owner_changes AS change SET
            sends = greatest(change.sends - 1, 0),
            sent_at = NULL,
            send_due_at = now()
        FROM unsent
        WHERE \(PurchaseKey.columns.equal("change", "unsent"))
        """)

    /// Removes projected changes, in the transaction that writes the purchases' rows.
    ///
    /// Skips rows with a later change and locked rows, so it never waits; another projection will
    /// remove them.
    package static let removeProjected = Statement<[Projected], Void>(
        [.rows("asked", PurchaseKey.columns.of(\.purchase) + [Column("change_id", \.change)])],
        """
        WITH projected AS (
            SELECT known.*
            FROM $asked
            CROSS JOIN LATERAL (\(lock("FOR UPDATE SKIP LOCKED"))) AS known
        )
        DELETE FROM owner_changes AS change USING projected
        WHERE \(PurchaseKey.columns.equal("change", "projected"))
        """)

    /// The keys of rows that still have the given change.
    private static func lock(_ strength: String) -> String {
        """
        SELECT \(PurchaseKey.columns.names(of: "change"))
        FROM owner_changes AS change
        WHERE \(PurchaseKey.columns.equal("change", "asked"))
          AND change.change_id = asked.change_id
        \(strength)
        """
    }
}

extension Duration { var wholeMilliseconds: Int64 { Int64(self / .milliseconds(1)) } }
