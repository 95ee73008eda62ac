import AppStore
import Entitlements
import JSON
import OpenSSL
import Postgres

extension PostgresRow {
    func optionalInt32(_ column: Int) -> Int32? {
        optionalInt8(column).map { Int32(truncatingIfNeeded: $0) }
    }

    func optionalDate(_ column: Int) -> Timestamp? {
        optionalInt8(column).map { Timestamp(milliseconds: $0) }
    }

    /// A signed date, and the content hash in the column behind it.
    func revision(_ column: Int) -> Revision {
        guard let hash = SHA256Digest(bytes(column + 1)) else {
            preconditionFailure("the schema lets no content hash be other than 32 bytes")
        }
        return Revision(
            signedDate: Timestamp(milliseconds: int8(column)),
            contentHash: hash
        )
    }

    /// Nil also where it is the one that is known anyway.
    func optionalRevision(_ column: Int, otherThan known: Revision) -> Revision? {
        guard !isNull(column) else { return nil }
        let revision = revision(column)
        return revision == known ? nil : revision
    }

    func trust(_ column: Int) -> Trust {
        guard let trust = Trust(text: text(column)) else {
            preconditionFailure("a trust is written by its text and by nothing else")
        }
        return trust
    }
}

extension OwnershipSpan {
    /// Reads `[["user", null], ["next user", from_ms], …]`; nil where there is none.
    static func spans(stored bytes: [UInt8]?) -> [OwnershipSpan]? {
        guard let bytes, let document = try? JSONDocument(parsing: bytes) else { return nil }
        return document.root.elements.compactMap { span in
            let members = Array(span.elements)
            guard members.count == 2, let user = members[0].string else { return nil }
            return OwnershipSpan(
                userID: user,
                from: members[1].int64.map { Timestamp(milliseconds: $0) }
            )
        }
    }
}

extension CommerceItem {
    /// Reads what `stored(_:)` wrote.
    static func items(stored bytes: [UInt8]?) -> [CommerceItem] {
        guard let bytes, let document = try? JSONDocument(parsing: bytes) else { return [] }
        return items(list: document.root)
    }

    /// Nil where there are none.
    static func stored(_ items: [CommerceItem]) -> [UInt8]? {
        guard !items.isEmpty else { return nil }
        var writer = JSONWriter()
        writer.beginArray()
        for item in items {
            writer.beginObject()
            writer.key("SKU")
            writer.string(item.sku)
            if let date = item.revocationDate {
                writer.key("revocationDate")
                writer.int(date.milliseconds)
            }
            if let refund = item.refund {
                writer.refund(refund)
            }
            writer.endObject()
        }
        writer.endArray()
        return writer.bytes
    }
}

extension JSONWriter {
    /// As Apple writes one refund of a part.
    fileprivate mutating func refund(_ refund: ItemRefund) {
        key("price")
        int(refund.price)
        key("refunds")
        beginArray()
        beginObject()
        key("refundAmount")
        int(refund.amount)
        key("refundDate")
        int(refund.date.milliseconds)
        endObject()
        endArray()
    }
}

extension Period {
    init(_ period: PostgresPeriod) {
        self.init(
            start: Timestamp(milliseconds: period.startMilliseconds),
            end: period.endMilliseconds.map { Timestamp(milliseconds: $0) }
        )
    }
}

extension PeriodSet {
    var stored: [PostgresPeriod] {
        periods.map { period in
            PostgresPeriod(
                startMilliseconds: period.start.milliseconds,
                endMilliseconds: period.end?.milliseconds
            )
        }
    }
}
