import Platform
package import Postgres

/// A PostgreSQL role with exactly the rights that one program or one group of people needs.
///
/// It has no rights on tables that are not named here, nor on functions that only other roles name.
package struct DatabaseRole: Sendable {
    typealias TableRights = (privileges: String, tables: [String])
    /// Rights on some columns of a table.
    typealias ColumnRights = (privilege: String, table: String, columns: [String])

    package let name: String
    let tables: [TableRights]
    let columns: [ColumnRights]
    /// Restricted functions that the role may call.
    let functions: [String]
    /// Predefined PostgreSQL roles to grant to this role, if the granting user may do so.
    let memberships: [String]

    private init(
        _ name: String, _ tables: [TableRights], columns: [ColumnRights] = [], functions: [String] = [],
        memberships: [String] = []
    ) {
        self.name = name
        self.tables = tables
        self.columns = columns
        self.functions = functions
        self.memberships = memberships
    }

    private static let read = "SELECT"
    private static let add = "SELECT, INSERT"
    private static let raise = "SELECT, INSERT, UPDATE"
    private static let keep = "SELECT, INSERT, UPDATE, DELETE"

    /// The tables that a worker reads to answer a record with its user's entitlements.
    private static let holdings: TableRights = (
        read, ["schema_migrations", "owners", "entitlements", "grants", "user_versions"]
    )

    package static let dedupeWorker = DatabaseRole(
        "dedupe-worker", [holdings, (keep, ["dedupe_revisions", "dedupe_notifications"])], functions: ["dedupe_prune"])

    /// Writes owners and the facts that decide them, but no table of Apple's facts or of entitlements.
    package static let linkWorker = DatabaseRole(
        "link-worker",
        [
            holdings, (read, ["account_links"]), (raise, ["linking_rules"]),
            (
                keep,
                [
                    "ownership_facts", "ownership_renewals", "ownership_claims", "ownership_restores", "owners",
                    "owner_changes", "account_link_changes",
                ]
            ),
        ],
        functions: [
            "lock_accounts", "lock_in_order", "lock_ownership", "lock_projection", "lock_shared", "wait_for_sharers",
        ])

    /// Writes facts and their projections, but no owners or links.
    package static let entitleWorker = DatabaseRole(
        "entitle-worker",
        [
            holdings,
            // Read ownership facts to find purchases by their account token.
            (read, ["catalog_versions", "forgotten_users", "ledger_debits", "ownership_facts", "subscriptions"]),
            ("SELECT, UPDATE", ["catalog_projection"]), (add, ["changes"]),
            (
                raise,
                [
                    "transactions", "renewals", "renewal_spans", "revisions", "notifications", "app_downloads",
                    "user_versions", "feed_lease",
                ]
            ),
            // The name of `renewal_spans` in the previous schema version.
            (add, ["grace_periods"]),
            (
                keep,
                [
                    "entitlements", "closed_periods", "stacked_purchases", "ledger", "unpublished_changes",
                    "feed_repetitions",
                ]
            ),
            // Remove the marks of projected purchases.
            ("SELECT, UPDATE, DELETE", ["owner_changes"]),
        ],
        functions: [
            "announce_boundaries", "lock_in_order", "lock_projection", "lock_shared", "lock_users", "wait_for_sharers",
        ])

    /// Writes the tables of recovery; reads which facts are held or stale, and whether a purchase has an owner.
    package static let recoveryWorker = DatabaseRole(
        "recovery-worker",
        [
            (read, ["schema_migrations", "notifications", "renewals", "transactions", "owners", "owner_changes"]),
            // Read what answers to refund requests follow from.
            (
                read,
                ["catalog_versions", "ledger", "ledger_debits", "purchases", "refund_consents", "stacked_purchases"]
            ), ("SELECT, UPDATE", ["refund_requests"]),
            (keep, ["apple_notifications", "recovery_requests", "recovery_slices", "recovery_windows"]),
            (raise, ["recovery_limits"]),
        ], functions: ["account_token_to_set"])

    private static let deadLetters: TableRights = (
        read,
        [
            "schema_migrations", "dead_letters", "dead_letter_progress", "dead_letter_groups", "dead_letter_hours",
            "dead_letter_actions", "dead_letter_states", "dead_letter_replays", "dead_letter_replay_records",
            "dead_letter_replay_positions",
        ]
    )

    private static let auditing = [
        deadLetters, (read, ["refund_acts", "refund_requests", "plans", "catalog_projection"]),
    ]

    /// Refund requests without their users, and the application of plans.
    private static let audited: [ColumnRights] = [
        refunds, (read, "catalog_versions", ["version", "plan", "applied_at", "applied_by", "requested_by"]),
        // Count the projected transactions.
        (read, "transactions", ["environment", "original_transaction_id"]),
    ]

    /// Refund requests without their users.
    private static let refunds: ColumnRights = (
        read, "refunds",
        [
            "request_id", "environment", "bundle_id", "original_transaction_id", "transaction_id", "product_id",
            "product_type", "price", "currency", "requested_at", "deadline", "outcome", "ended_at", "preference",
            "answer", "evidence", "error_code", "decided_by", "reason", "decision", "decision_at", "refund_percentage",
            "request_reason",
        ]
    )

    /// The role of the command `dead-letter index`.
    package static let deadLetterIndex = DatabaseRole(
        "dead-letter-index",
        [deadLetters, (keep, ["dead_letters", "dead_letter_progress"]), ("TRUNCATE", ["dead_letters"])],
        functions: ["lock_shared"])

    /// Reads the index of dead letters, refund requests with what people decided, and plans; changes nothing.
    package static let auditor = DatabaseRole("auditor", auditing, columns: audited)

    /// Decides about dead letters, and reveals and exports their contents; each action is recorded.
    ///
    /// Includes the rights of the auditor.
    package static let investigator = DatabaseRole(
        "investigator", auditing, columns: audited, functions: ["record_dead_letter_decision"])

    /// The console's role: replays dead letters, and has all rights of the investigator.
    package static let replay = DatabaseRole(
        // The version before writes the positions.
        "dead-letter-replay", auditing + [(raise, ["dead_letter_replay_positions"])],
        columns: audited + [
            ("INSERT", "dead_letter_replays", ["who", "why", "filter", "count", "rate", "failing_share_max"]),
            ("UPDATE", "dead_letter_replays", ["state", "note", "count"]),
            ("INSERT", "dead_letter_replay_records", ["replay", "ordinal", "dead_letter_id", "transaction_id", "raw"]),
            (
                "UPDATE", "dead_letter_replay_records",
                ["sent_topic", "sent_partition", "sent_offset", "outcome", "outcome_reason", "refused_as"]
            ),
        ], functions: ["record_dead_letter_decision", "record_dead_letter_replay"])

    /// The role of the commands of `pipeline`, except `migrate`, which needs the schema's owner.
    package static let operations = DatabaseRole(
        "pipeline-operator",
        [deadLetters] + linkWorker.tables + entitleWorker.tables + [
            (keep, ["account_links", "dedupe_revisions", "dedupe_notifications"]),
            (raise, ["catalog_versions", "recovery_requests"]), (add, ["account_link_acts"]),
            // Delete spans that no content states.
            ("DELETE", ["renewal_spans"]), ("SELECT, DELETE", ["recovery_limits"]),
            (
                read,
                [
                    "active_entitlements", "entitlement_details", "ledger_balances", "ledger_history",
                    "apple_notifications", "recovery_windows", "subscriptions", "purchases", "known_names",
                    "refund_requests", "refunds", "plans",
                ]
            ),
        ],
        // The database writes its user into each plan.
        columns: [
            (
                "INSERT", "plans",
                ["planned_at", "requested_by", "reason", "catalog_version", "catalog", "input", "result"]
            )
        ],
        functions: linkWorker.functions + entitleWorker.functions + [
            "decide_refund", "dedupe_prune", "explain_transaction", "explain_user", "forget_user", "grant_entitlement",
            "ledger_credit", "ledger_reverse", "reapply_ownership_rules", "revoke_grant", "stored_about_user",
        ],
        // See what the workers' sessions wait for.
        memberships: ["pg_read_all_stats"])

    /// The role of the app's own servers: reads users' entitlements, records spending and consents.
    package static let appServer = DatabaseRole(
        "app-server",
        [
            (
                read,
                [
                    "entitlements", "grants", "user_versions", "ledger", "ledger_debits", "active_entitlements",
                    "ledger_balances", "ledger_history", "subscriptions",
                ]
            )
        ], functions: ["ledger_debit", "ledger_reverse", "set_refund_consent"])

    /// The role of support staff and their tools: reads what users hold and why, credits balances and grants; it
    /// can neither forget a user nor rebuild.
    package static let support = DatabaseRole(
        "support", appServer.tables + [(read, ["entitlement_details", "purchases", "known_names", "refunds"])],
        functions: [
            "explain_transaction", "explain_user", "grant_entitlement", "ledger_credit", "ledger_reverse",
            "revoke_grant",
        ])

    /// The role of finance: reads payments without their users.
    package static let analyst = DatabaseRole(
        "analyst", [],
        columns: [
            (
                "SELECT", "purchases",
                [
                    "environment", "bundle_id", "original_transaction_id", "transaction_id", "payment_id", "product_id",
                    "product_type", "purchased_at", "original_purchase_date", "expires_at", "quantity", "price",
                    "currency", "storefront", "offer_type", "offer_id", "offer_discount_type", "offer_period",
                    "is_trial", "billing_plan", "transaction_reason", "additional_transaction_reason", "ownership_type",
                    "is_upgraded", "web_order_line_item_id", "revoked_at", "revocation_type", "refund_percentage",
                    "refund_reason",
                ]
            )
        ])

    /// The role of the service that links tokens and purchases to users.
    package static let accountLinker = DatabaseRole("account-linker", [(keep, ["account_links"])])

    package static let all = [
        dedupeWorker, linkWorker, entitleWorker, recoveryWorker, deadLetterIndex, auditor, investigator, replay,
        operations, appServer, support, analyst, accountLinker,
    ]
}

extension DatabaseRole {
    /// Returns a script that creates the roles and grants each exactly its rights in one schema.
    ///
    /// The script may be run again at any time, and must be run after a migration that adds a
    /// table. An existing role keeps its password and its other attributes; a new role has no
    /// password.
    ///
    /// - Parameter prefix: the prefix of each role's name.
    package static func script(_ roles: [DatabaseRole], schema: String, prefix: String) -> String {
        let schema = quoted(schema)
        let functions = all.flatMap(\.functions).map { "\(schema).\(quoted($0))" }
        let begin =
            "REVOKE CREATE ON SCHEMA \(schema) FROM PUBLIC;\n"
            + "REVOKE EXECUTE ON FUNCTION \(functions.joined(separator: ", ")) FROM PUBLIC;\n"
        return begin + roles.map { $0.script(schema, name: prefix + $0.name) }.joined()
    }

    /// Runs that script as one transaction, so that no role lacks rights in between.
    package static func grant(
        _ roles: [DatabaseRole], schema: String, prefix: String, on connection: PostgresConnection
    ) async throws { try await connection.execute(script: script(roles, schema: schema, prefix: prefix)) }

    private func script(_ schema: String, name: String) -> String {
        let role = Self.quoted(name)
        let text = Self.doubling("'", in: name)
        // Dollar quoting ends at the first equal tag, so choose a tag that the name does not contain.
        var tag = "$role$"
        while name.includes(tag) { tag = "$_" + tag.dropFirst() }
        let tables = tables.map { rights in
            "GRANT \(rights.privileges) ON "
                + rights.tables.map { "\(schema).\(Self.quoted($0))" }.joined(separator: ", ") + " TO \(role);\n"
        }
        let columns = columns.map { rights in
            "GRANT \(rights.privilege) (\(rights.columns.joined(separator: ", ")))"
                + " ON \(schema).\(Self.quoted(rights.table)) TO \(role);\n"
        }
        let functions = functions.map { function in
            "GRANT EXECUTE ON FUNCTION \(schema).\(Self.quoted(function)) TO \(role);\n"
        }
        // A schema's owner may lack the right to grant these memberships.
        let memberships = memberships.map { membership in
            """
            DO \(tag) BEGIN
                GRANT \(membership) TO \(role);
            EXCEPTION WHEN insufficient_privilege THEN
                RAISE NOTICE USING MESSAGE = 'a superuser has to grant \(membership) to \(text)';
            END \(tag);

            """
        }
        return """

            DO \(tag) BEGIN
                IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '\(text)') THEN
                    CREATE ROLE \(role) LOGIN;
                END IF;
            END \(tag);
            REVOKE ALL ON SCHEMA \(schema) FROM \(role);
            REVOKE ALL ON ALL TABLES IN SCHEMA \(schema) FROM \(role);
            REVOKE ALL ON ALL SEQUENCES IN SCHEMA \(schema) FROM \(role);
            REVOKE ALL ON ALL FUNCTIONS IN SCHEMA \(schema) FROM \(role);
            GRANT USAGE ON SCHEMA \(schema) TO \(role);

            """ + (tables + columns + functions + memberships).joined()
    }

    private static func quoted(_ name: String) -> String { "\"\(doubling("\"", in: name))\"" }

    /// Doubles quotes by Unicode scalar, as the server reads them: a quote with a combining accent
    /// also ends a name.
    private static func doubling(_ quote: Unicode.Scalar, in text: String) -> String {
        var doubled = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == quote { doubled.append(quote) }
            doubled.append(scalar)
        }
        return String(doubled)
    }
}
