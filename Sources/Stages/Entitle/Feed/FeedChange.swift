import Holdings
import JSON
import Postgres

/// A row of `changes` that waits to be published.
struct FeedChange {
    /// Of its row in the outbox.
    let id: Int64
    let userID: String
    private let row: PostgresRow

    /// The columns of `FeedReading.changes`.
    init(_ row: PostgresRow) {
        id = row.int8(0)
        userID = row.text(1)
        self.row = row
    }

    /// As `entitlements.changed.schema.json` describes it; nil where nothing fits.
    ///
    /// Where not all periods fit, the last ones do.
    func value(bytesMax: Int) -> (bytes: [UInt8], isWhole: Bool)? {
        let (old, new) = (row.periods(7), row.periods(8))
        let whole = value(old, new, omitted: nil)
        if whole.count <= bytesMax { return (whole, true) }
        var count = max(old.count, new.count)
        while count > 0 {
            count /= 2
            let (keptOld, keptNew) = (Array(old.suffix(count)), Array(new.suffix(count)))
            let omitted = (old.count - keptOld.count, new.count - keptNew.count)
            let value = value(keptOld, keptNew, omitted: omitted)
            if value.count <= bytesMax { return (value, false) }
        }
        return nil
    }

    private func value(
        _ old: [PostgresPeriod],
        _ new: [PostgresPeriod],
        omitted: (old: Int, new: Int)?
    ) -> [UInt8] {
        var writer = JSONWriter(reserving: 640 + 48 * (old.count + new.count))
        writer.beginObject()
        writer.key("schemaVersion")
        writer.int(1)
        writer.key("userID")
        writer.string(userID)
        writer.key("version")
        writer.int(row.int8(2))
        writer.key("changedAt")
        writer.int(row.timestamp(15))
        writer.key("environment")
        writer.string(row.text(3))
        writer.key("bundleID")
        writer.string(orNull: row.optionalText(4))
        writer.key("originalTransactionID")
        writer.string(orNull: row.optionalText(5))
        writer.key("entitlement")
        writer.string(row.text(6))
        writer.key("old")
        writer.periods(old)
        writer.key("new")
        writer.periods(new)
        if let omitted {
            writer.key("omitted")
            writer.beginObject()
            writer.key("old")
            writer.int(omitted.old)
            writer.key("new")
            writer.int(omitted.new)
            writer.key("wholeIn")
            writer.string("changes")
            writer.endObject()
        }
        writeCause(to: &writer)
        writer.endObject()
        return writer.bytes
    }

    private func writeCause(to writer: inout JSONWriter) {
        writer.key("cause")
        writer.beginObject()
        writer.key("kind")
        writer.string(row.text(9))
        if let id = row.optionalText(10) {
            writer.key("id")
            writer.string(id)
        }
        if let version = row.optionalInt8(11) {
            writer.key("catalogVersion")
            writer.int(version)
        }
        if let topic = row.optionalText(12) {
            writer.key("source")
            writer.beginObject()
            writer.key("topic")
            writer.string(topic)
            writer.key("partition")
            writer.int(row.int8(13))
            writer.key("offset")
            writer.int(row.int8(14))
            writer.endObject()
        }
        writer.endObject()
    }
}
