package import Postgres

/// Puts a catalog into the database, where the workers find it.
package enum CatalogApplication {
    /// The version that holds afterwards, and whether it is new.
    package struct Outcome: Hashable, Sendable {
        package let version: Int64
        package let isNew: Bool
    }

    /// Applies a catalog that was checked; the same once more changes nothing.
    package static func apply(
        _ catalog: [UInt8],
        on connection: PostgresConnection
    ) async throws -> Outcome {
        try await connection.transaction { transaction in
            // Two who apply the same catalog at once would both find it new.
            try await transaction.execute(
                script: "LOCK TABLE catalog_versions IN SHARE ROW EXCLUSIVE MODE"
            )
            let newest = try await transaction.query(
                """
                SELECT version::int8, content_sha256 = sha256($1) FROM catalog_versions
                ORDER BY version DESC LIMIT 1
                """,
                [.bytea(catalog)]
            )
            if let row = newest.first, row.bool(1) {
                return Outcome(version: row.int8(0), isNew: false)
            }
            let inserted = try await transaction.query(
                """
                INSERT INTO catalog_versions (content, content_sha256)
                VALUES (convert_from($1, 'UTF8')::json, sha256($1))
                RETURNING version::int8
                """,
                [.bytea(catalog)]
            )
            return Outcome(version: inserted[0].int8(0), isNew: true)
        }
    }
}
