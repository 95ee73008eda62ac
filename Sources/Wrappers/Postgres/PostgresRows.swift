import CLibPQ
import Glibc

/// A statement's rows, read in libpq's own memory.
///
/// The object owns the `PGresult` and clears it at the end. Nothing writes to a result that libpq has returned, so
/// several tasks may read it. Reading a column as a wrong type, or a NULL through an accessor of a non-optional value,
/// is an error in our own SQL and traps.
@safe package final class PostgresRows: @unchecked Sendable {
    private let result: OpaquePointer

    package let count: Int
    package let columnCount: Int

    @unsafe init(takingOwnershipOf result: OpaquePointer) {
        unsafe self.result = unsafe result
        count = Int(unsafe PQntuples(result))
        columnCount = Int(unsafe PQnfields(result))
    }

    deinit { unsafe PQclear(result) }

    /// Number of rows that an INSERT, UPDATE, DELETE, MERGE or SELECT affected; 0 for other statements.
    package var affectedCount: Int {
        guard let text = unsafe PQcmdTuples(result) else { return 0 }
        return unsafe Int(String(cString: text)) ?? 0
    }

    /// The tag of the command that has answered, such as `COMMIT` or `INSERT 0 1`.
    var commandTag: String { unsafe PQcmdStatus(result).map { unsafe String(cString: $0) } ?? "" }

    /// Whether the result has exactly these columns, in this order.
    package func hasColumns(named names: some Collection<String>) -> Bool {
        guard names.count == columnCount else { return false }
        return zip(0..., names).allSatisfy { column, name in
            unsafe PQfname(result, Int32(column)).map { unsafe strcmp($0, name) == 0 } ?? false
        }
    }

    package func type(ofColumn column: Int) -> PostgresType { PostgresType(oid: unsafe PQftype(result, Int32(column))) }

    func isNull(_ row: Int, _ column: Int) -> Bool {
        precondition(
            (0..<count).contains(row) && (0..<columnCount).contains(column),
            "a statement returns fewer rows or columns than its reader asks for")
        return unsafe PQgetisnull(result, Int32(row), Int32(column)) == 1
    }

    /// The bytes of one field, valid while this object exists.
    ///
    /// `nil` for NULL.
    @unsafe func field(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
        if isNull(row, column) { return nil }
        let start = unsafe PQgetvalue(result, Int32(row), Int32(column))
        let length = unsafe PQgetlength(result, Int32(row), Int32(column))
        return unsafe UnsafeRawBufferPointer(start: start, count: Int(length))
    }
}

extension PostgresRows: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(position: Int) -> PostgresRow {
        precondition((0..<count).contains(position), "a row outside of what was returned")
        return PostgresRow(rows: self, index: position)
    }
}
