import Postgres
import TestSupport
import Testing

@Suite struct ValueTests {
    private let connection: PostgresConnection

    init() async throws {
        let options = try await PostgresServer.shared.emptyDatabase()
        connection = try await PostgresConnection.connect(options)
    }

    @Test func `scalars come back as they went`() async throws {
        let rows = try await connection.query(
            """
            SELECT $1::int8, $2::text, $3::bytea, $4::bool, $5::float8, $6::timestamptz,
                $7::tstzmultirange, $8::text
            """,
            [
                .int8(.min), .text("π\u{1F600}"), .bytea([0, 255, 10]), .bool(true), .float8(-2.5),
                .timestamptz(milliseconds: -1),
                .periods([
                    PostgresPeriod(startMilliseconds: 1, endMilliseconds: 2),
                    PostgresPeriod(startMilliseconds: 1_700_000_000_123, endMilliseconds: nil),
                ]), .textBytes(Array("raw".utf8)),
            ])
        let row = rows[0]
        #expect(row.int8(0) == .min)
        #expect(row.text(1) == "π\u{1F600}")
        #expect(row.bytes(2) == [0, 255, 10])
        #expect(row.bool(3))
        #expect(row.float8(4) == -2.5)
        #expect(row.timestamp(5) == -1)
        #expect(row.periods(6).map(\.startMilliseconds) == [1, 1_700_000_000_123])
        #expect(row.periods(6).map(\.endMilliseconds) == [2, nil])
        #expect(row.text(7) == "raw")
    }

    @Test func `a null differs from an empty value`() async throws {
        let rows = try await connection.query(
            "SELECT $1::text, $2::text, $3::bytea, $4::bytea", [.null, .text(""), .null, .bytea([])])
        #expect(rows[0].optionalText(0) == nil)
        #expect(rows[0].optionalText(1) == "")
        #expect(rows[0].isNull(2))
        #expect(rows[0].optionalBytes(3) == [])
    }

    @Test func `arrays keep their order and their nulls`() async throws {
        let rows = try await connection.query(
            """
            SELECT i, t, b, f, j::text, p FROM unnest($1::int8[], $2::text[], $3::bytea[],
                $4::bool[], $5::json[], $6::tstzmultirange[]) AS rows(i, t, b, f, j, p)
            """,
            [
                Self.array(of: .int8, [1, nil, -3] as [Int64?]) { $0.append($1) }, .textArray(["a", "", nil]),
                Self.array(of: .bytea, [nil, [1, 2], []] as [[UInt8]?]) { $0.append($1) },
                Self.array(of: .bool, [true, nil, false] as [Bool?]) { $0.append($1) },
                Self.array(of: .json, ["{\"a\":1e200000, \"a\":2}", nil, "[]"] as [String?]) { $0.append($1) },
                Self.array(
                    of: .periods,
                    [[PostgresPeriod(startMilliseconds: 5, endMilliseconds: 6)], [], nil] as [[PostgresPeriod]?]
                ) { $0.append($1) },
            ])
        #expect(rows.map { $0.optionalInt8(0) } == [1, nil, -3])
        #expect(rows.map { $0.optionalText(1) } == ["a", "", nil])
        #expect(rows.map { $0.optionalBytes(2) } == [nil, [1, 2], []])
        #expect(rows.map { $0.optionalBool(3) } == [true, nil, false])
        #expect(rows[0].text(4) == "{\"a\":1e200000, \"a\":2}")
        #expect(rows[0].periods(5) == [PostgresPeriod(startMilliseconds: 5, endMilliseconds: 6)])
        #expect(rows[1].periods(5) == [])
        #expect(rows[2].isNull(5))
    }

    private static func array<Value>(
        of type: PostgresType, _ values: [Value], _ append: (inout PostgresArray, Value) -> Void
    ) -> PostgresValue {
        var array = PostgresArray(of: type)
        for value in values { append(&array, value) }
        return .array(array)
    }

    @Test func `an empty batch is an empty set`() async throws {
        let rows = try await connection.query(
            "SELECT * FROM unnest($1::int8[], $2::text[]) AS rows(i, t)",
            [.array(PostgresArray(of: .int8)), .textArray([])])
        #expect(rows.isEmpty)
    }

    @Test func `one statement takes parameters of other types the next time`() async throws {
        let sql = "SELECT pg_typeof($1)::text"
        #expect(try await connection.query(sql, [.int8(1)])[0].text(0) == "bigint")
        #expect(try await connection.query(sql, [.text("1")])[0].text(0) == "text")
        #expect(try await connection.query(sql, [.bool(true)])[0].text(0) == "boolean")
    }

    @Test func `a time beyond what the server holds becomes the nearest one`() async throws {
        let rows = try await connection.query(
            "SELECT $1::timestamptz, $2::timestamptz, 'infinity'::timestamptz",
            [.timestamptz(milliseconds: .max), .timestamptz(milliseconds: .min)])
        #expect(rows[0].timestamp(0) == 9_224_318_015_999_999)
        #expect(rows[0].timestamp(1) == -210_866_803_200_000)
        #expect(rows[0].timestamp(2) == .max)
    }

    @Test func `bytes are shown in place`() async throws {
        let rows = try await connection.query("SELECT '\\x0102ff'::bytea, NULL::bytea")
        let sum = rows[0].withBytes(0) { bytes in bytes.indices.reduce(0) { $0 + Int(bytes[$1]) } }
        #expect(sum == 258)
        #expect(rows[0].withBytes(1) { $0.count } == nil)
    }

    @Test func `a thousand payloads go in one statement`() async throws {
        try await connection.execute(script: "CREATE TABLE payloads (id int8, payload json)")
        let payload = Array("{\"k\":\"\(String(repeating: "x", count: 1500))\"}".utf8)
        var ids = PostgresArray(of: .int8)
        var payloads = PostgresArray(of: .json, bytesExpected: 1_600_000)
        for id in 0..<1000 {
            ids.append(Int64(id))
            payloads.append(payload[...])
        }
        let answer = try await connection.query(
            "INSERT INTO payloads SELECT * FROM unnest($1::int8[], $2::json[])", [.array(ids), .array(payloads)])
        #expect(answer.affectedCount == 1000)
        let back = try await connection.query("SELECT payload FROM payloads ORDER BY id DESC")
        #expect(back.count == 1000)
        #expect(back.allSatisfy { $0.bytes(0) == payload })
    }
}
