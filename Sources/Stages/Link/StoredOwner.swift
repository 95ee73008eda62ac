import AppStore
import Entitlements
import JSON
import Postgres

/// A row of `owners`: whose a purchase is, and what the purchases beside it need to know.
struct StoredOwner: Equatable {
    var userID: String?
    var rule: String
    /// `[["user", null], ["next user", from_ms], …]`; nil where there never was another owner.
    var spans: [UInt8]?
    /// The present owner by rules 1 and 2.
    var directUserID: String?
    var appTransactionID: String?

    init(
        _ ownership: Ownership,
        directUserID: String?,
        appTransactionID: String?
    ) {
        userID = ownership.userID
        rule = ownership.rule.rawValue
        spans = ownership.spans.count > 1 ? Self.encode(ownership.spans) : nil
        self.directUserID = directUserID
        self.appTransactionID = appTransactionID
    }

    /// The columns that `OwnershipReading` asks for.
    init(_ row: PostgresRow) {
        userID = row.optionalText(2)
        rule = row.text(3)
        spans = row.optionalBytes(4)
        directUserID = row.optionalText(5)
        appTransactionID = row.optionalText(6)
    }

    /// Whether the purchase is and was the same people's before.
    ///
    /// - Parameter former: nil where nobody owned it yet.
    func isSameOwnership(as former: StoredOwner?) -> Bool {
        userID == former?.userID && spans == former?.spans
    }

    private static func encode(_ spans: [OwnershipSpan]) -> [UInt8] {
        var writer = JSONWriter()
        writer.array { writer in
            for span in spans {
                writer.array { writer in
                    writer.string(span.userID)
                    if let from = span.from { writer.int(from.milliseconds) } else { writer.null() }
                }
            }
        }
        return writer.bytes
    }
}
