import AppStore
import Holdings
import JSON
import Postgres
import Records
import Store

extension RecordedChange {
    /// Makes a value by `entitlements.changed.schema.json`.
    ///
    /// `nil` if nothing fits. If not all periods fit, the last ones are kept.
    func value(bytesMax: Int) -> (bytes: [UInt8], isWhole: Bool)? {
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

    private func value(_ old: [PostgresPeriod], _ new: [PostgresPeriod], omitted: (old: Int, new: Int)?) -> [UInt8] {
        var writer = JSONWriter(reserving: 640 + 48 * (old.count + new.count))
        writer.beginFeedObject(userID: userID, version: version)
        writer.key("changedAt")
        writer.int(changedAt.milliseconds)
        writer.key("environment")
        writer.string(environment)
        writer.key("bundleID")
        writer.string(orNull: bundleID)
        writer.key("originalTransactionID")
        writer.string(orNull: originalTransactionID)
        writer.key("entitlement")
        writer.string(key)
        writer.key("old")
        writer.periods(old)
        writer.key("new")
        writer.periods(new)
        writer.activity(of: self.new, at: changedAt)
        writer.terms(terms)
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
        writer.string(cause)
        if let event {
            writer.key("event")
            writer.string(event)
        }
        writer.optionalString("formerUserID", formerUserID?.text)
        if let causeID {
            writer.key("id")
            writer.string(causeID)
        }
        if let catalogVersion {
            writer.key("catalogVersion")
            writer.int(catalogVersion)
        }
        if let plan {
            writer.key("plan")
            writer.int(plan)
        }
        if let source {
            writer.key("source")
            writer.object { $0.position(source) }
        }
        writer.endObject()
    }
}

extension JSONWriter {
    /// Begins a feed record's object with the members that all feed records have.
    mutating func beginFeedObject(userID: Identifier, version: Int64) {
        beginObject()
        key("schemaVersion")
        int(1)
        key("userID")
        string(userID)
        key("version")
        int(version)
    }
}
