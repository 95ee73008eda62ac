import Postgres
import TestSupport
import Testing

@Suite struct LedgerTests {
    private let options: PostgresOptions
    private let connection: PostgresConnection

    init() async throws {
        options = try await PostgresServer.shared.migratedDatabase()
        connection = try await PostgresConnection.connect(options)
    }

    private func credit(
        _ amount: Int64, takenBack: Int64 = 0, transaction: String = "1", environment: String = "Production"
    ) async throws {
        _ = try await connection.query(
            """
            INSERT INTO ledger (environment, bundle_id, transaction_id, currency,
                original_transaction_id, product_id, user_id, amount, taken_back, purchase_date_ms)
            VALUES ($1, 'com.example', $2, 'gold', $2, 'coins', 'anna', $3, $4, 1)
            """, [.text(environment), .text(transaction), .int8(amount), .int8(takenBack)])
    }

    private func debit(_ amount: Int64, _ reference: String, environment: String = "Production") async throws -> Int64 {
        try await connection.query(
            "SELECT ledger_debit('anna', 'gold', $1, $2, $3)", [.int8(amount), .text(reference), .text(environment)])[0]
            .int8(0)
    }

    private func balance(environment: String = "Production") async throws -> Int64 {
        try await connection.query("SELECT ledger_balance('anna', 'gold', $1)", [.text(environment)])[0].int8(0)
    }

    @Test func `a debit lowers the balance once, even if repeated`() async throws {
        try await credit(100)
        #expect(try await debit(30, "sword") == 70)
        #expect(try await debit(30, "sword") == 70)
        #expect(try await debit(20, "shield") == 50)
        #expect(try await debit(30, "sword") == 50)
        #expect(try await balance() == 50)
    }

    @Test func `a reference cannot be used for another debit`() async throws {
        try await credit(100)
        _ = try await debit(30, "sword")
        let error = await #expect(throws: PostgresError.self) { try await debit(31, "sword") }
        #expect(error?.sqlState == SQLState("LE002"))
        #expect(try await balance() == 70)
    }

    @Test func `an overdraft is refused to the unit`() async throws {
        try await credit(100)
        let error = await #expect(throws: PostgresError.self) { try await debit(101, "sword") }
        #expect(error?.sqlState == SQLState("LE001"))
        #expect(try await debit(100, "sword") == 0)
        let empty = await #expect(throws: PostgresError.self) { try await debit(1, "pin") }
        #expect(empty?.sqlState == SQLState("LE001"))
    }

    @Test func `a refund of spent units makes the balance negative`() async throws {
        try await credit(100)
        _ = try await debit(80, "sword")
        _ = try await connection.query("UPDATE ledger SET taken_back = 50")
        #expect(try await balance() == -30)
        #expect(try await debit(80, "sword") == -30)
        let error = await #expect(throws: PostgresError.self) { try await debit(1, "pin") }
        #expect(error?.sqlState == SQLState("LE001"))
    }

    @Test func `credits of Sandbox are not spent in Production`() async throws {
        try await credit(100, environment: "Sandbox")
        let error = await #expect(throws: PostgresError.self) { try await debit(1, "pin") }
        #expect(error?.sqlState == SQLState("LE001"))
        #expect(try await debit(1, "pin", environment: "Sandbox") == 99)
        #expect(try await balance() == 0)
    }

    @Test(arguments: [Int64(0), -5]) func `a debit of nothing or less is refused`(amount: Int64) async throws {
        try await credit(100)
        let error = await #expect(throws: PostgresError.self) { try await debit(amount, "x") }
        #expect(error?.sqlState == SQLState("22023"))
        #expect(try await balance() == 100)
    }

    @Test func `debits at the same time never overdraw`() async throws {
        try await credit(100)
        let client = PostgresClient(options, connectionsMax: 8)
        let accepted = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<40 {
                group.addTask {
                    let rows = try? await client.query(
                        "SELECT ledger_debit('anna', 'gold', 10, $1)", [.text("debit \(number)")])
                    return rows != nil
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(accepted == 10)
        #expect(try await balance() == 0)
    }

    @Test func `one reference at the same time debits once`() async throws {
        try await credit(100)
        let client = PostgresClient(options, connectionsMax: 8)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask { _ = try await client.query("SELECT ledger_debit('anna', 'gold', 10, 'sword')") }
            }
            try await group.waitForAll()
        }
        #expect(try await balance() == 90)
    }

    /// A snapshot is taken before the lock is waited for, so that it lacks the debit that held it.
    @Test(arguments: ["REPEATABLE READ", "SERIALIZABLE"])
    func `a debit by a snapshot that waits for another debit never overdraws`(level: String) async throws {
        try await credit(100)
        let other = try await PostgresConnection.connect(options)
        let refusal = try await connection.transaction { transaction in
            _ = try await transaction.query("SELECT ledger_debit('anna', 'gold', 80, 'sword')")
            async let refusal = #expect(throws: PostgresError.self) {
                try await other.execute(
                    script: """
                        BEGIN ISOLATION LEVEL \(level);
                        SELECT ledger_debit('anna', 'gold', 80, 'shield');
                        COMMIT
                        """)
            }
            let observer = try await PostgresConnection.connect(options)
            try await eventually {
                let waiting = try await observer.query(
                    """
                    SELECT count(*) FROM pg_locks JOIN pg_database AS d ON d.oid = database
                    WHERE locktype = 'advisory' AND datname = current_database() AND NOT granted
                    """)
                let failed = try await observer.query(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database()
                      AND state = 'idle in transaction (aborted)'
                    """)
                return waiting[0].int8(0) + failed[0].int8(0) > 0
            }
            return await refusal
        }
        #expect(refusal?.sqlState == SQLState("IL001"))
        #expect(try await balance() == 20)
    }

    @Test func `the view shows each balance of Production`() async throws {
        try await credit(100, takenBack: 10)
        try await credit(5, transaction: "2")
        try await credit(1000, transaction: "3", environment: "Sandbox")
        _ = try await debit(15, "sword")
        let rows = try await connection.query("SELECT user_id, currency, balance FROM ledger_balances")
        #expect(rows.map { "\($0.text(0)) \($0.text(1)) \($0.int8(2))" } == ["anna gold 80"])
    }

    @Test func `the history shows how the balance came about, below zero too`() async throws {
        try await credit(100)
        _ = try await debit(70, "sword")
        _ = try await connection.query(
            """
            UPDATE ledger SET taken_back = 50,
                revocation_date_ms = (extract(epoch FROM now()) * 1000)::int8 + 60000
            """)
        try await credit(7, transaction: "2", environment: "Sandbox")
        let rows = try await connection.query(
            """
            SELECT kind, amount, reference, balance, environment FROM ledger_history
            WHERE user_id = 'anna' ORDER BY environment, happened_at
            """)
        let lines = rows.map { row in "\(row.text(0)) \(row.int8(1)) \(row.text(2)) \(row.int8(3)) \(row.text(4))" }
        #expect(
            lines == [
                "credit 100 1 100 Production", "debit -70 sword 30 Production", "refund -50 1 -20 Production",
                "credit 7 2 7 Sandbox",
            ])
        #expect(try await balance() == -20)
    }

    private func value(_ call: String) async throws -> Int64 { try await connection.query("SELECT \(call)")[0].int8(0) }

    private func code(_ call: String) async throws -> SQLState? {
        await #expect(throws: PostgresError.self) { try await value(call) }?.sqlState
    }

    /// Each call that writes, run twice and at the same time.
    private func expectOnce(_ call: String, _ result: Int64) async throws {
        #expect(try await value(call) == result)
        let client = PostgresClient(options, connectionsMax: 8)
        try await withThrowingTaskGroup(of: Int64.self) { group in
            for _ in 0..<20 { group.addTask { try await client.query("SELECT \(call)")[0].int8(0) } }
            for try await other in group { #expect(other == result) }
        }
        #expect(try await balance() == result)
    }

    @Test func `a credit and its reversal count once each, also side by side`() async throws {
        try await expectOnce("ledger_credit('anna', 'gold', 50, 'ticket 1', 'lost')", 50)
        try await expectOnce("ledger_reverse('anna', 'ticket 1', 'by mistake')", 0)
        #expect(try await code("ledger_credit('anna', 'gold', 50, 'ticket 1', 'lost')") == SQLState("LE003"))
        #expect(try await balance() == 0)
    }

    @Test func `a debit and its reversal count once each, also side by side`() async throws {
        try await credit(100)
        try await expectOnce("ledger_debit('anna', 'gold', 30, 'order 1')", 70)
        try await expectOnce("ledger_reverse('anna', 'order 1', 'cancelled')", 100)
        #expect(try await code("ledger_debit('anna', 'gold', 30, 'order 1')") == SQLState("LE003"))
        #expect(try await debit(30, "order 2") == 70)
    }

    @Test func `the reversal of a spent credit makes the balance negative`() async throws {
        _ = try await value("ledger_credit('anna', 'gold', 50, 'ticket 1', 'lost')")
        _ = try await debit(40, "sword")
        #expect(try await value("ledger_reverse('anna', 'ticket 1', 'fraud')") == -40)
        #expect(try await code("ledger_debit('anna', 'gold', 1, 'pin')") == SQLState("LE001"))
    }

    @Test(arguments: [
        ("ledger_credit('anna', 'gold', 0, 't', 'why')", "22023"),
        ("ledger_credit('anna', 'gold', 1000000001, 't', 'why')", "22023"),
        ("ledger_credit('anna', 'gold', NULL, 't', 'why')", "22023"),
        ("ledger_credit('anna', 'gold', 1, 't', '')", "22023"),
        ("ledger_credit('anna', 'gold', 1, '', 'why')", "22023"),
        ("ledger_credit('anna', 'gold', 1, 't', 'why', 'Prod')", "UE001"),
        ("ledger_reverse('anna', 'nothing', 'why')", "LE004"), ("ledger_reverse('anna', 'sword', '')", "22023"),
        ("ledger_reverse('otto', 'sword', 'why')", "LE004"),
        ("ledger_reverse('anna', 'reversal of pin', 'why')", "LE004"),
        ("ledger_credit('anna', 'gold', 1, 'reversal of sword', 'why')", "22023"),
        ("ledger_credit('anna', 'gold', 10, 'sword', 'why')", "LE002"),
    ]) func `a wrong credit or reversal is refused, and changes nothing`(call: String, code: String) async throws {
        try await credit(100)
        _ = try await debit(10, "sword")
        _ = try await debit(20, "pin")
        _ = try await value("ledger_reverse('anna', 'pin', 'cancelled')")
        #expect(try await self.code(call) == SQLState(code))
        #expect(try await balance() == 90)
    }

    @Test func `an entry is reversed whatever the length of its reference`() async throws {
        try await credit(100)
        for length in [239, 240, 255] {
            let reference = String(repeating: "r", count: length)
            _ = try await debit(10, reference)
            #expect(try await value("ledger_reverse('anna', '\(reference)', 'cancelled')") == 100)
        }
    }

    @Test func `an entry of the version before with a reversal's reference hides no reversal`() async throws {
        try await credit(100)
        _ = try await debit(10, "sword")
        _ = try await connection.query(
            """
            INSERT INTO ledger_debits (user_id, reference, environment, currency, amount)
            VALUES ('anna', 'reversal of sword', 'Production', 'gold', 1)
            """)
        #expect(try await debit(10, "sword") == 89)
        #expect(try await code("ledger_reverse('anna', 'sword', 'cancelled')") == SQLState("23505"))
        #expect(try await balance() == 89)
    }

    @Test func `the history shows who posted what by which purchase or reference, and why`() async throws {
        try await credit(100)
        _ = try await debit(70, "sword")
        _ = try await value("ledger_credit('anna', 'gold', 5, 'ticket 1', 'lost')")
        _ = try await value("ledger_reverse('anna', 'sword', 'cancelled')")
        let rows = try await connection.query(
            """
            SELECT concat_ws(' ', kind, amount, balance, reference, original_transaction_id, reason),
                posted_by = session_user
            FROM ledger_history WHERE user_id = 'anna' AND currency = 'gold' ORDER BY happened_at
            """)
        #expect(
            rows.map { $0.text(0) } == [
                "credit 100 100 1 1", "debit -70 30 sword", "adjustment 5 35 ticket 1 lost",
                "reversal 70 105 sword cancelled",
            ])
        #expect(rows.dropFirst().allSatisfy { $0.bool(1) })
    }
}
