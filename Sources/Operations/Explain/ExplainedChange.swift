import Holdings
import JSON
import Postgres

/// One change of what a user may use, as the history has it.
struct ExplainedChange {
    let version: Int64
    let changedAt: Int64
    let key: String
    let originalTransactionID: String?
    let old: [PostgresPeriod]
    let new: [PostgresPeriod]
    let cause: String
    let causeID: String?
    let catalogVersion: Int64?
    /// `storekit.raw/3/1041`; nil where no record brought it.
    let source: String?

    static let columns = """
        version, changed_at, entitlement_key, original_transaction_id, old_periods, new_periods,
        cause, cause_id, catalog_version::int8,
        source_topic || '/' || source_partition || '/' || source_offset
        """

    init(_ row: PostgresRow) {
        version = row.int8(0)
        changedAt = row.timestamp(1)
        key = row.text(2)
        originalTransactionID = row.optionalText(3)
        old = row.periods(4)
        new = row.periods(5)
        cause = row.text(6)
        causeID = row.optionalText(7)
        catalogVersion = row.optionalInt8(8)
        source = row.optionalText(9)
    }

    var lines: [String] {
        var why = cause
        if let causeID { why += " \(causeID)" }
        if let source { why += ", read at \(source)" }
        if let catalogVersion { why += ", catalog version \(catalogVersion)" }
        let date = CalendarDate.instant(milliseconds: changedAt)
        let purchase = originalTransactionID.map { " of purchase \($0)" } ?? ""
        return [
            "  version \(version), \(date): \(key)\(purchase)",
            "    was \(old.phrase)", "    became \(new.phrase)", "    because of \(why)",
        ]
    }

    /// - Parameter userID: named where the changes shown are not all of one user.
    func write(to writer: inout JSONWriter, of userID: String? = nil) {
        writer.object { writer in
            if let userID { writer.member("userID", userID) }
            writer.member("version", version)
            writer.member("changedAt", changedAt)
            writer.member("entitlement", key)
            writer.member("originalTransactionID", originalTransactionID)
            writer.key("old")
            writer.periods(old)
            writer.key("new")
            writer.periods(new)
            writer.member("cause", cause)
            writer.member("causeID", causeID)
            writer.optional("catalogVersion", catalogVersion)
            writer.member("source", source)
        }
    }
}
