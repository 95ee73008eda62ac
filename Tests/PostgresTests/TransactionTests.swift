import Postgres
import TestSupport
import Testing

@Suite struct TransactionTests {
    private struct Stop: Error {}

    private let options: PostgresOptions
    private let connection: PostgresConnection

    init() async throws {
        options = try await PostgresServer.shared.emptyDatabase()
        connection = try await PostgresConnection.connect(options)
        try await connection.execute(script: "CREATE TABLE facts (id int8 PRIMARY KEY)")
    }

    private func count() async throws -> Int64 { try await connection.query("SELECT count(*) FROM facts")[0].int8(0) }

    private func insert(_ id: Int64) -> PostgresStatement {
        PostgresStatement("INSERT INTO facts VALUES ($1)", [.int8(id)])
    }

    @Test func `a body that returns commits`() async throws {
        let value = try await connection.transaction { transaction in
            _ = try await transaction.pipeline([insert(1)])
            _ = try await transaction.pipeline([insert(2)])
            return 5
        }
        #expect(value == 5)
        #expect(try await count() == 2)
    }

    @Test func `a body that throws leaves nothing behind`() async throws {
        await #expect(throws: Stop.self) {
            try await connection.transaction { transaction in
                _ = try await transaction.pipeline([insert(1)])
                throw Stop()
            }
        }
        #expect(try await count() == 0)
    }

    @Test func `a commit is what answered to it, or the transaction is undone`() async throws {
        try await connection.transaction { _ = try await $0.pipeline([insert(1)]) }
        // As behind a pooler that gives the next transaction another server's session.
        let name = try await connection.query("SELECT name FROM pg_prepared_statements WHERE statement = 'COMMIT'")[0]
            .text(0)
        try await connection.execute(script: "DEALLOCATE \(name); PREPARE \(name) AS SELECT 1")
        let error = await #expect(throws: PostgresError.self) {
            try await connection.transaction { _ = try await $0.pipeline([insert(2)]) }
        }
        #expect(error?.code == .unexpectedAnswer)
        #expect(await !connection.isUsable())
        let other = try await PostgresConnection.connect(options)
        #expect(try await other.query("SELECT count(*) FROM facts")[0].int8(0) == 1)
        await other.close()
    }

    @Test func `a transaction that was never begun is not taken for one`() async throws {
        try await connection.transaction { _ = try await $0.pipeline([insert(1)]) }
        let name = try await connection.query("SELECT name FROM pg_prepared_statements WHERE statement LIKE 'BEGIN%'")[
            0
        ].text(0)
        try await connection.execute(script: "DEALLOCATE \(name); PREPARE \(name) AS SELECT 1")
        let error = await #expect(throws: PostgresError.self) {
            try await connection.transaction { _ = try await $0.pipeline([insert(2)]) }
        }
        #expect(error?.code == .unexpectedAnswer)
    }

    @Test func `a transaction that does nothing is no error`() async throws {
        try await connection.transaction { _ in }
        await #expect(throws: Stop.self) { try await connection.transaction { _ in throw Stop() } }
        #expect(await connection.isUsable())
    }

    @Test func `a failed statement that the body swallows cannot be committed`() async throws {
        let error = await #expect(throws: PostgresError.self) {
            try await connection.transaction { transaction in
                _ = try await transaction.pipeline([insert(1)])
                _ = try? await transaction.query("SELECT 1 FROM nowhere")
            }
        }
        #expect(error?.sqlState == SQLState("25P02"))
        #expect(try await count() == 0)
        #expect(await connection.isUsable())
    }

    @Test func `a pipeline outside of a transaction takes effect as a whole or not`() async throws {
        let error = await #expect(throws: PostgresError.self) {
            try await connection.pipeline([insert(1), insert(2), insert(1), insert(3)])
        }
        #expect(error?.sqlState == .uniqueViolation)
        #expect(try await count() == 0)
        let rows = try await connection.pipeline([insert(1), PostgresStatement("SELECT id FROM facts"), insert(2)])
        #expect(rows.map(\.affectedCount) == [1, 1, 1])
        #expect(rows[1].map { $0.int8(0) } == [1])
        #expect(try await count() == 2)
    }

    @Test func `a script runs inside of the transaction around it`() async throws {
        await #expect(throws: Stop.self) {
            try await connection.transaction { transaction in
                try await transaction.execute(script: "INSERT INTO facts VALUES (8), (9)")
                throw Stop()
            }
        }
        #expect(try await count() == 0)
    }

    @Test func `a transaction sees what others commit while it runs`() async throws {
        let level = try await connection.transaction { transaction in
            try await transaction.query("SHOW transaction_isolation")[0].text(0)
        }
        #expect(level == "read committed")
    }

    @Test func `a snapshot stays as it is and writes nothing`() async throws {
        let level = try await connection.snapshot { snapshot in
            try await snapshot.query("SHOW transaction_isolation")[0].text(0)
        }
        #expect(level == "repeatable read")
        let error = await #expect(throws: PostgresError.self) {
            try await connection.snapshot { _ = try await $0.query("INSERT INTO facts VALUES (1)") }
        }
        #expect(error?.sqlState == SQLState("25006"))
    }

    @Test func `a transaction has a deadline over all its calls`() async throws {
        let error = await #expect(throws: PostgresError.self) {
            try await connection.transaction(deadline: .milliseconds(300)) { transaction in
                for _ in 0..<100 { _ = try await transaction.query("SELECT pg_sleep(0.05)") }
            }
        }
        #expect(error?.code == .deadlineExceeded)
    }

    @Test func `a cancelled task rolls back`() async throws {
        let observer = try await PostgresConnection.connect(options)
        let task = Task {
            try await connection.transaction { transaction in
                _ = try await transaction.pipeline([insert(1)])
                await eventually { Task.isCancelled }
                try Task.checkCancellation()
            }
        }
        try await eventually {
            try await observer.query(
                """
                SELECT 1 FROM pg_stat_activity
                WHERE datname = current_database() AND state = 'idle in transaction'
                """
            ).count == 1
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await count() == 0)
    }

    @Test func `prepared statements are kept up to their bound`() async throws {
        var bounded = options
        bounded.preparedStatementsMax = 3
        let connection = try await PostgresConnection.connect(bounded)
        let prepared = "SELECT count(*) FROM pg_prepared_statements"
        for round in 0..<2 {
            for number in 0..<10 {
                let rows = try await connection.query("SELECT \(number)::int8 + $1", [.int8(1)])
                #expect(rows[0].int8(0) == Int64(number + 1), "round \(round)")
            }
        }
        #expect(try await connection.query(prepared)[0].int8(0) <= 5)
        let again = try await connection.query(prepared)[0].int8(0)
        #expect(again <= 4)
    }

    @Test func `a statement is prepared once`() async throws {
        for id in 0..<5 { _ = try await connection.pipeline([insert(Int64(id)), insert(Int64(id) + 100)]) }
        let rows = try await connection.query(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'INSERT%'")
        #expect(rows[0].int8(0) == 1)
    }

    @Test func `notices are handed over`() async throws {
        let notices = Recorded<PostgresNotice>()
        var listening = options
        listening.noticeHandler = { notices.append($0) }
        let connection = try await PostgresConnection.connect(listening)
        try await connection.execute(script: "DO $$ BEGIN RAISE WARNING 'careful' USING DETAIL = 'a secret'; END $$")
        #expect(notices.all.map(\.message) == ["careful"])
        #expect(notices.all.map(\.severity) == ["WARNING"])
    }

    @Test func `a notification reaches who listens`() async throws {
        let listener = try await PostgresConnection.connect(options)
        try await listener.listen(to: "links \"of\" users")
        #expect(try await listener.notifications(deadline: .milliseconds(10)).isEmpty)
        _ = try await connection.query("SELECT pg_notify($1, $2)", [.text("links \"of\" users"), .text("42")])
        let notifications = try await listener.notifications(deadline: .seconds(10))
        #expect(notifications.map(\.payload) == ["42"])
        #expect(notifications.map(\.channel) == ["links \"of\" users"])
        #expect(await listener.isUsable())
    }

    @Test func `who waits for notifications sees the connection end`() async throws {
        let listener = try await PostgresConnection.connect(options)
        try await listener.listen(to: "links")
        let id = try await listener.query("SELECT pg_backend_pid()")[0].int8(0)
        let task = Task { try await listener.notifications(deadline: .seconds(30)) }
        _ = try await connection.query("SELECT pg_terminate_backend($1::int4)", [.text("\(id)")])
        let error = await #expect(throws: PostgresError.self) { try await task.value }
        #expect(error?.code == .connectionLost)
    }
}
