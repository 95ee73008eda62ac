package import AppStore
package import Entitlements
import JSON
import Postgres

/// A row of `owners`: the owner of a purchase, and the facts that related purchases need.
package struct StoredOwner: Hashable, Sendable, StoredValue {
    package var userID: Identifier?
    package var rule: String
    /// The owners and the times from which they own: `[["user", null], ["next user", from_ms], …]`.
    ///
    /// `nil` if there never was another owner.
    package var spans: JSONText?
    /// The present owner by rules 1 and 2.
    package var directUserID: Identifier?
    package var appTransactionID: Identifier?
}

extension StoredOwner {
    package init(_ ownership: Ownership, directUserID: Identifier?, appTransactionID: Identifier?) {
        self.init(
            userID: ownership.userID, rule: ownership.rule.rawValue,
            spans: ownership.spans.count > 1 ? Self.encode(ownership.spans) : nil, directUserID: directUserID,
            appTransactionID: appTransactionID)
    }

    /// Whether the purchase has the same present and past owners as before.
    ///
    /// - Parameter former: the owner before; `nil` if no owner was stored.
    package func isSameOwnership(as former: StoredOwner?) -> Bool { userID == former?.userID && spans == former?.spans }

    package var ownership: Ownership {
        let present = userID.map { [OwnershipSpan(userID: $0)] } ?? []
        return Ownership(
            spans: spans.map { Self.decode($0) } ?? present, rule: OwnershipRule(rawValue: rule) ?? .unlinked)
    }

    private static func encode(_ spans: [OwnershipSpan]) -> JSONText {
        var writer = JSONWriter()
        writer.array { writer in
            for span in spans {
                writer.array { writer in
                    writer.string(span.userID)
                    if let from = span.from { writer.int(from.milliseconds) } else { writer.null() }
                }
            }
        }
        return JSONText(writer.bytes)
    }

    private static func decode(_ text: JSONText) -> [OwnershipSpan] {
        text.root.elements.compactMap { span in
            let members = Array(span.elements)
            guard members.count == 2, let user = members[0].identifier else { return nil }
            return OwnershipSpan(userID: user, from: members[1].int64.map { Timestamp(milliseconds: $0) })
        }
    }

    static let fields = Fields(
        StoredOwner.init, Field("user_id", \.userID), Field("rule", \.rule), Field("spans", \.spans),
        Field("direct_user_id", \.directUserID), Field("app_transaction_id", \.appTransactionID))
}

/// The table `owners`: one row for each purchase, even if nobody owns it.
package enum OwnerTable {
    package typealias Row = (key: PurchaseKey, owner: StoredOwner)

    static let reader = RowReader<Row>({ ($0, $1) }, PurchaseKey.reader, StoredOwner.reader)

    package static let write = Upsert<Row>(
        into: "owners", PurchaseKey.columns.of(\.key) + StoredOwner.columns.of(\.owner),
        onConflict: """
            (original_transaction_id, environment, bundle_id) DO UPDATE
            SET \(StoredOwner.columns.excluded)
            """)

    static let read = PurchaseScope.read(reader, from: "owners")

    /// A purchase's owner, and the change of owner that no projection includes yet.
    package struct Changed: Sendable {
        package let key: PurchaseKey
        package let owner: StoredOwner
        package let change: Int64?
    }

    /// Reads owners and changes in one statement, so that each change belongs to the owner read with it.
    static let readWithChanges = Statement<[PurchaseScope], Changed>(
        [.rows("asked", PurchaseScope.columns)],
        returning: RowReader(Changed.init, PurchaseKey.reader, StoredOwner.reader, "change_id"),
        """
        SELECT \(reader.names(of: "known")),
               (
                   SELECT change.change_id FROM owner_changes AS change
                   WHERE \(PurchaseKey.columns.equal("change", "known"))
               ) AS change_id
        \(PurchaseScope.lookUp("owners"))
        """)

    /// The user who owns a purchase; if several apps have a purchase of the ID, the first app's.
    package static let user = Statement<
        (environment: Environment, bundleID: Identifier?, originalTransactionID: Identifier), Identifier
    >(
        [
            .value("environment", \.environment), .value("bundle_id", \.bundleID),
            .value("original", \.originalTransactionID),
        ], returning: RowReader("user_id"),
        """
        SELECT user_id FROM owners
        WHERE environment = $environment AND original_transaction_id = $original
          AND user_id IS NOT NULL AND bundle_id = coalesce($bundle_id, bundle_id)
        ORDER BY bundle_id LIMIT 1
        """)

    /// Notifies the listener for changed links of work about owners.
    package static let notify = Statement("SELECT pg_notify('\(AccountLinkTable.channel)', '')")
}

/// The purchases that share an `appTransactionId`, found in `owners`.
package enum AppTransactionGroupTable {
    /// The owners of a group's purchases by rules 1 and 2.
    package struct Owners: Sendable {
        package let group: AppTransactionGroup
        /// The first user by ID; equal to `last` if there is only one.
        package let first: Identifier
        package let last: Identifier
    }

    private static let columns = AppTransactionGroup.columns

    /// Reads a group's owners with two look-ups, even for a thousand purchases.
    package static let owners = Statement<[AppTransactionGroup], Owners>(
        [.rows("asked", columns)],
        returning: RowReader(Owners.init, AppTransactionGroup.reader, "first_user_id", "last_user_id"),
        """
        SELECT asked.*, first.direct_user_id AS first_user_id, last.direct_user_id AS last_user_id
        FROM $asked
        CROSS JOIN LATERAL (
            SELECT owner.direct_user_id FROM owners AS owner
            WHERE \(columns.equal("owner", "asked")) AND owner.direct_user_id IS NOT NULL
            ORDER BY owner.direct_user_id LIMIT 1
        ) AS first
        CROSS JOIN LATERAL (
            SELECT owner.direct_user_id FROM owners AS owner
            WHERE \(columns.equal("owner", "asked")) AND owner.direct_user_id IS NOT NULL
            ORDER BY owner.direct_user_id DESC LIMIT 1
        ) AS last
        """)

    /// The purchases of groups that have no owner by rules 1 and 2; the other purchases decide their owner.
    package static let dependants = Statement<[AppTransactionGroup], PurchaseKey>(
        [.rows("asked", columns)], returning: PurchaseKey.reader,
        """
        SELECT known.original_transaction_id, asked.environment, asked.bundle_id
        FROM $asked
        CROSS JOIN LATERAL (
            SELECT owner.original_transaction_id FROM owners AS owner
            WHERE \(columns.equal("owner", "asked")) AND owner.direct_user_id IS NULL
            OFFSET 0
        ) AS known
        """)
}

extension AppTransactionGroup: StoredValue {
    static let fields = Fields(
        AppTransactionGroup.init, Field("environment", \.environment), Field("bundle_id", \.bundleID),
        Field("app_transaction_id", \.appTransactionID))
}
