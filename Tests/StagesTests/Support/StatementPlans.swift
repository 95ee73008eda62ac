import Postgres
import Testing

/// The plans of the queries of a client with one connection.
enum StatementPlans {
    /// The prepared statements of a worker's connection, each with its plan for any value.
    private static func all(_ client: PostgresClient) async throws -> [(statement: String, plan: String)] {
        try await client.withConnection { connection in
            let rows = try await connection.query(
                """
                SELECT name, statement, cardinality(parameter_types)::int8
                FROM pg_prepared_statements WHERE statement ~ '^(SELECT|INSERT|UPDATE|DELETE|WITH)'
                """)
            try await connection.execute(script: "SET plan_cache_mode = force_generic_plan")
            var plans: [(String, String)] = []
            for row in rows {
                let values = [String](repeating: "NULL", count: Int(row.int8(2)))
                let call = values.isEmpty ? "" : "(\(values.joined(separator: ", ")))"
                let plan = try await connection.query("EXPLAIN EXECUTE \(row.text(0))\(call)")
                plans.append((row.text(1), plan.map { $0.text(0) }.joined(separator: "\n")))
            }
            return plans
        }
    }

    /// Functions of the planner and sources that are no table are read whole at any size.
    ///
    /// - Parameter small: a table of one row.
    static func expectPointLookups(_ client: PostgresClient, besides small: String = "pg_") async throws {
        let plans = try await all(client)
        #expect(plans.count > 3)
        for (statement, plan) in plans where !statement.contains("pg_") && !statement.contains(small) {
            #expect(!plan.contains("JIT:"), "\(statement)\n\(plan)")
            #expect(!plan.contains("Seq Scan on"), "\(statement)\n\(plan)")
            #expect(!plan.contains("cost=10000000000"), "\(statement)\n\(plan)")
        }
    }
}
