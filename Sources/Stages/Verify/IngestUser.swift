import Kafka
import Records

/// What a raw record's headers say about whose its purchases are.
///
/// The ingestion service sets the header `user-id` from its own session; the body is the app's.
enum IngestUser: Equatable {
    case unnamed
    case named(String)
    /// More than one, or no name: 1 to 255 bytes of UTF-8 without control characters.
    case malformed

    private static let byteCounts = 1...255

    init(_ headers: [KafkaHeader]) {
        let named = headers.filter { $0.nameBytes == RecordHeader.userID }
        guard let first = named.first else {
            self = .unnamed
            return
        }
        guard named.count == 1, let value = first.value, Self.byteCounts.contains(value.count),
            let text = String(validating: value, as: UTF8.self),
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            self = .malformed
            return
        }
        self = .named(text)
    }
}
