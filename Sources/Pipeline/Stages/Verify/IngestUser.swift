import AppStore
import Kafka
import Records

/// The user that a raw record's headers name as the owner of its purchases.
///
/// The ingestion service sets the header `user-id` from its session; the app sets the body.
enum IngestUser: Equatable {
    case unnamed
    case named(Identifier)
    /// The record has several such headers, or a value that is not UTF-8 or not a valid identifier.
    case malformed

    init(_ headers: [KafkaHeader]) {
        let named = headers.filter { $0.nameBytes == RecordHeader.userID }
        guard let first = named.first else {
            self = .unnamed
            return
        }
        guard named.count == 1, let value = first.value, let text = String(validating: value, as: UTF8.self),
            let userID = Identifier(entering: text)
        else {
            self = .malformed
            return
        }
        self = .named(userID)
    }
}
