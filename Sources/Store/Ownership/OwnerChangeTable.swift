import AppStore
package import Entitlements
package import Records
import Postgres

/// The table `owner_changes`: purchases whose owner has changed and that have not been projected
/// since.
///
/// `link-worker` writes it in the transaction that changes the owner, and sends link observations
/// until `entitle-worker` has removed the row with its projection; nobody else removes one.
package enum OwnerChangeTable {
    /// A purchase whose owner changes in the current transaction, and whether a current record is
    /// forwarded to `entitle-worker`, which then projects it.
    package typealias Change = (purchase: PurchaseKey, hasRecord: Bool)

    /// A purchase for which a link observation is due.
    package struct Due: Sendable {
        package let key: PurchaseKey
        package let owner: ObservedOwner
        /// The number of the owner's change.
        package let change: Int64
    }

    /// A change that a projection has followed.
    package typealias Projected = (purchase: PurchaseKey, change: Int64)

    /// How long a forwarded record may take before a link observation is sent as well.
    package static let recordDelay = Duration.seconds(60)
    /// The time for the purchase to be projected after the first link observation; after each
    /// following one it is four times as long, up to the limit.
    private static let resendDelayMin = Duration.seconds(60)
    private static let resendDelayMax = Duration.seconds(3_600)
    /// The maximum of purchases with a link observation in flight.
    ///
    /// One that is not projected within `onItsWayMax` no longer counts. If `entitle-worker` lags or
    /// is stopped, its backlog grows by no more than that.
    package static let onItsWayCountMax = 5_000
    package static let onItsWayMax = Duration.seconds(300)

    /// - Parameter sends: the number of link observations sent, including this one.
    package static func resendDelay(afterSends sends: Int) -> Duration {
        let doublings = 2 * min(max(sends - 1, 0), 16)
        return min(resendDelayMin * (1 << doublings), resendDelayMax)
    }

    /// Marks purchases for projection, in the transaction that changes their owners.
    ///
    /// In the order of their keys, like every statement that locks several of the rows.
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
        """
    )

    static let isAnyDue = "EXISTS (SELECT FROM owner_changes WHERE send_due_at <= now())"

    /// Takes the purchases for which a link observation is due, longest waiting first, and records
    /// it as sent: if the purchase is not projected, the next one is due after a delay.
    ///
    /// Committed before anything is sent, so that no projection that follows finds the row locked
    /// and leaves it. A purchase that a transaction has locked is left for the next time.
    package static let take = Statement<Void, Due>(
        [
            .value("on_its_way_ms") { _ in onItsWayMax.wholeMilliseconds },
            .value("unlinked") { _ in OwnershipRule.unlinked },
            .values("delays_ms") { _ in resendDelaysMilliseconds },
        ],
        returning: RowReader(
            Due.init,
            PurchaseKey.reader,
            RowReader(ObservedOwner.init, "user_id", "rule"),
            "change_id"
        ),
        """
        WITH due AS (
            SELECT \(PurchaseKey.columns.names()) FROM owner_changes
            WHERE send_due_at <= now() ORDER BY send_due_at
            LIMIT least(500, \(onItsWayCountMax) - (
                SELECT count(*) FROM (
                    SELECT FROM owner_changes
                    WHERE sent_at > now() - $on_its_way_ms * interval '1 millisecond'
                    LIMIT \(onItsWayCountMax)
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
               coalesce(owner.rule, $unlinked) AS rule, taken.change_id
        FROM taken
        LEFT JOIN LATERAL (
            SELECT known.user_id, known.rule FROM owners AS known
            WHERE \(PurchaseKey.columns.equal("known", "taken"))
            OFFSET 0
        ) AS owner ON true
        """
    )

    private static let resendDelaysMilliseconds = (1...5).map {
        resendDelay(afterSends: $0).wholeMilliseconds
    }

    /// Makes link observations due again that could not be sent.
    ///
    /// Leaves a purchase that has been projected or has another owner since, and one that a
    /// transaction has locked: its next link observation is due after a delay anyway.
    package static let putBack = Statement<[Due], Void>(
        [
            .rows("asked", PurchaseKey.columns.of(\.key) + [Column("change_id", \.change)])
        ],
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
        """
    )

    /// Removes projected changes, in the transaction that writes the purchases' rows.
    ///
    /// Leaves a later change, and one that a transaction has locked: another projection follows it.
    /// So this waits for nobody.
    package static let removeProjected = Statement<[Projected], Void>(
        [
            .rows("asked", PurchaseKey.columns.of(\.purchase) + [Column("change_id", \.change)])
        ],
        """
        WITH projected AS (
            SELECT known.*
            FROM $asked
            CROSS JOIN LATERAL (\(lock("FOR UPDATE SKIP LOCKED"))) AS known
        )
        DELETE FROM owner_changes AS change USING projected
        WHERE \(PurchaseKey.columns.equal("change", "projected"))
        """
    )

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

extension Duration {
    var wholeMilliseconds: Int64 { Int64(self / .milliseconds(1)) }
}
