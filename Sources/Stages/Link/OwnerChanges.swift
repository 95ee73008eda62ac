import AppStore
import Entitlements
import Postgres

/// The statements about purchases whose owner has changed and that have not been projected since.
///
/// `entitle-worker` removes a row with the projection, and nobody else does.
enum OwnerChanges {
    /// A purchase whose owner changes in the transaction at hand.
    struct Change {
        let purchase: PurchaseKey
        /// Whether a record in hand goes on to `entitle-worker`, which projects the purchase then.
        let hasRecord: Bool
    }

    /// How long a record that goes on may take before a link observation is sent beside it.
    static let recordDelay = Duration.seconds(60)
    /// What a link observation that was sent gets to have the purchase projected: the first one,
    /// then each following one four times as much, up to the limit.
    private static let resendDelayMin = Duration.seconds(60)
    private static let resendDelayMax = Duration.seconds(3_600)
    /// How many purchases have a link observation on its way at most.
    ///
    /// One that is not projected within `onItsWayMax` no longer counts. Where `entitle-worker` is
    /// behind or stands, what waits for it does not grow by more than that.
    static let onItsWayCountMax = 5_000
    static let onItsWayMax = Duration.seconds(300)

    /// - Parameter sends: how many link observations have been sent, this one included.
    static func resendDelay(afterSends sends: Int) -> Duration {
        let doublings = 2 * min(max(sends - 1, 0), 16)
        return min(resendDelayMin * (1 << doublings), resendDelayMax)
    }

    /// Marks purchases as to be projected, in the transaction that changes their owners.
    ///
    /// In the order of their keys, as whoever else locks several of the rows does.
    static func record(_ changes: [Change]) -> PostgresStatement {
        var columns = PurchaseColumns()
        var delays = PostgresArray(of: .int8)
        for change in changes.sorted(by: { $0.purchase < $1.purchase }) {
            columns.append(change.purchase)
            delays.append(change.hasRecord ? recordDelay.wholeMilliseconds : 0)
        }
        return PostgresStatement(recordChanges, columns.values + [.array(delays)])
    }

    private static let recordChanges = """
        INSERT INTO owner_changes AS known (
            original_transaction_id, environment, bundle_id, send_due_at)
        SELECT original_transaction_id, environment, bundle_id,
               now() + delay_ms * interval '1 millisecond'
        FROM unnest($1::text[], $2::text[], $3::text[], $4::int8[])
            AS new (original_transaction_id, environment, bundle_id, delay_ms)
        ON CONFLICT (original_transaction_id, environment, bundle_id) DO UPDATE SET
            change_id = excluded.change_id,
            send_due_at = least(known.send_due_at, excluded.send_due_at),
            sends = 0
        """

    static let isAnyDue = "EXISTS (SELECT FROM owner_changes WHERE send_due_at <= now())"

    /// Purchases for which a link observation is due, those that wait longest first.
    static let due = PostgresStatement(
        """
        SELECT change.environment, change.bundle_id, change.original_transaction_id,
               owner.user_id, coalesce(owner.rule, $2), change.change_id, change.sends::int8
        FROM (
            SELECT * FROM owner_changes WHERE send_due_at <= now() ORDER BY send_due_at
            LIMIT least(500, \(onItsWayCountMax) - (
                SELECT count(*) FROM (
                    SELECT FROM owner_changes
                    WHERE sent_at > now() - $1::int8 * interval '1 millisecond'
                    LIMIT \(onItsWayCountMax)
                ) AS sent
            ))
        ) AS change
        LEFT JOIN LATERAL (
            SELECT known.user_id, known.rule FROM owners AS known
            WHERE known.original_transaction_id = change.original_transaction_id
              AND known.environment = change.environment AND known.bundle_id = change.bundle_id
            OFFSET 0
        ) AS owner ON true
        """,
        [.int8(onItsWayMax.wholeMilliseconds), .text(OwnershipRule.unlinked.rawValue)]
    )

    /// Notes that link observations were acknowledged: where the purchase is not projected, each
    /// is sent again after a while.
    ///
    /// What was projected or has another owner meanwhile is left as it is, and so is what somebody
    /// is at: that is sent once more, which costs a record and changes nothing.
    static func sent(_ relinks: [Relink]) -> PostgresStatement {
        var columns = PurchaseColumns()
        var changes = PostgresArray(of: .int8)
        var delays = PostgresArray(of: .int8)
        for relink in relinks {
            columns.append(relink.key)
            changes.append(relink.change)
            let delay = resendDelay(afterSends: relink.sends + 1)
            delays.append(delay.wholeMilliseconds)
        }
        return PostgresStatement(noteSent, columns.values + [.array(changes), .array(delays)])
    }

    private static let noteSent = """
        WITH sent AS (
            SELECT known.*, asked.delay_ms
            FROM unnest($1::text[], $2::text[], $3::text[], $4::int8[], $5::int8[])
                AS asked (original_transaction_id, environment, bundle_id, change_id, delay_ms)
            CROSS JOIN LATERAL (
                SELECT change.original_transaction_id, change.environment, change.bundle_id
                FROM owner_changes AS change
                WHERE change.original_transaction_id = asked.original_transaction_id
                  AND change.environment = asked.environment
                  AND change.bundle_id = asked.bundle_id AND change.change_id = asked.change_id
                FOR NO KEY UPDATE SKIP LOCKED
            ) AS known
        )
        UPDATE owner_changes AS change SET
            sends = change.sends + 1,
            sent_at = now(),
            send_due_at = now() + sent.delay_ms * interval '1 millisecond'
        FROM sent
        WHERE change.original_transaction_id = sent.original_transaction_id
          AND change.environment = sent.environment AND change.bundle_id = sent.bundle_id
        """
}

extension Duration {
    var wholeMilliseconds: Int64 { Int64(self / .milliseconds(1)) }
}
