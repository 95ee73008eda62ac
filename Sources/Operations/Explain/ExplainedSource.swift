import JSON
import Postgres

/// Where a content was read first: the raw record, and the notification that it came by.
struct ExplainedSource {
    let topic: String
    let partition: Int64
    let offset: Int64
    let signedDate: Int64
    let recordedAt: Int64
    /// `DID_RENEW/BILLING_RECOVERY`; nil where no notification brought it.
    let notification: String?
    let notificationUUID: String?

    /// The columns that `columns` names, from `first` on.
    init(_ row: PostgresRow, from first: Int) {
        topic = row.text(first)
        partition = row.int8(first + 1)
        offset = row.int8(first + 2)
        signedDate = row.int8(first + 3)
        recordedAt = row.timestamp(first + 4)
        notificationUUID = row.optionalText(first + 5)
        notification = row.optionalText(first + 6).map { type in
            row.optionalText(first + 7).map { "\(type)/\($0)" } ?? type
        }
    }

    /// Of `revisions AS known`, with the notification beside it.
    static let columns = """
        known.source_topic, known.source_partition::int8, known.source_offset,
        known.signed_date_ms, known.recorded_at, known.notification_uuid, came.type, came.subtype
        """

    /// - Parameter revisions: a relation `known`.
    static func join(_ revisions: String) -> String {
        """
        \(revisions)
        LEFT JOIN notifications AS came
            ON came.uuid = lower(known.notification_uuid) AND came.environment = known.environment
        """
    }

    var phrase: String {
        let signed = CalendarDate.instant(milliseconds: signedDate)
        let record = "\(topic)/\(partition)/\(offset)"
        guard let notification else { return "signed \(signed), read at \(record)" }
        return "signed \(signed), by notification \(notification), read at \(record)"
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("topic", topic)
            writer.member("partition", partition)
            writer.member("offset", offset)
            writer.member("signedDate", signedDate)
            writer.member("recordedAt", recordedAt)
            writer.member("notification", notification)
            writer.member("notificationUUID", notificationUUID)
        }
    }
}
