import AppStore
import AppStoreServer
package import JSON
import Kafka
import OpenSSL
import Records
import Store

/// Converts Apple's answers to records of the topic `raw`.
package enum RecoveredBody {
    /// The value of the header `source`.
    static let source = "app-store-server-api"
    private static let job = "recovery-job"
    private static let page = "recovery-page"

    /// The record of a notification, with the correlation ID that identifies its outcome.
    static func notification(
        _ signedPayload: [UInt8], _ id: NotificationID, of slice: RecoveryWindowTable.Slice, topic: String
    ) -> ProducerRecord {
        var writer = JSONWriter(reserving: signedPayload.count + 32)
        writer.object { writer in
            writer.key("signedPayload")
            writer.string(utf8: signedPayload)
        }
        return ProducerRecord(
            topic: topic, value: writer.bytes,
            headers: headers(slice.job.rawValue, page: slice.pageNumber) + [
                KafkaHeader(nameBytes: RecordHeader.correlationID, value: id.correlationID)
            ])
    }

    /// The records of an answer about a purchase: unchanged, or in parts that the pipeline accepts.
    static func answer(_ body: [UInt8], to request: RecoveryRequestTable.Request, page: Int64, topic: String)
        throws(JSONError) -> [ProducerRecord]
    {
        try parts(of: body).map { value in
            ProducerRecord(topic: topic, value: value, headers: headers(request.kind.rawValue, page: page))
        }
    }

    private static func headers(_ job: String, page: Int64) -> [KafkaHeader] {
        [
            KafkaHeader(name: "source", text: source), KafkaHeader(name: self.job, text: job),
            KafkaHeader(name: self.page, text: "\(page)"),
        ]
    }

    /// Maximum bytes of a body, and maximum items (`itemsMax`), that `verify-worker` accepts by default.
    package static let bytesMax = 512 << 10
    package static let itemsMax = 100

    /// The body itself if it is small enough, otherwise several bodies with a part of its items each.
    ///
    /// Empty without items: Apple's answer about an unknown order contains only a `status`.
    package static func parts(of body: [UInt8]) throws(JSONError) -> [[UInt8]] {
        let root = try JSONDocument(parsing: body).root
        let (lists, path): ([JSONValue], [StaticString])
        if let list = root["signedTransactions"], list.kind == .array {
            (lists, path) = ([list], ["signedTransactions"])
        } else if let groups = root["data"], groups.kind == .array {
            lists = groups.elements.compactMap { $0["lastTransactions"] }
            path = ["data", "lastTransactions"]
        } else {
            return root["status"] == nil ? [body] : []
        }
        let count = lists.reduce(0) { $0 + $1.count }
        if count == 0 { return [] }
        let isAcceptable = body.count <= bytesMax && count <= itemsMax
        return isAcceptable ? [body] : lists.flatMap { parts($0, path) }
    }

    /// - Parameter path: the names of the members that lead to the list: one name, or two if the
    ///   first names an array of objects.
    private static func parts(_ list: JSONValue, _ path: [StaticString]) -> [[UInt8]] {
        var parts: [[JSONValue]] = []
        var bytes = 0
        for item in list.elements {
            bytes += item.rawBytes.count + 1
            if bytes > bytesMax || parts.last.map({ $0.count == itemsMax }) ?? true {
                parts.append([])
                bytes = item.rawBytes.count
            }
            parts[parts.count - 1].append(item)
        }
        return parts.map { items in
            var writer = JSONWriter(reserving: bytesMax)
            writer.object { writer in
                writer.key(path[0])
                writer.array { writer in
                    guard path.count > 1 else { return write(items, &writer) }
                    writer.object { writer in
                        writer.key(path[1])
                        writer.array { write(items, &$0) }
                    }
                }
            }
            return writer.bytes
        }
    }

    private static func write(_ items: [JSONValue], _ writer: inout JSONWriter) {
        for item in items { writer.raw(Array(item.rawBytes)) }
    }
}

/// The name of a recovered notification, and its correlation ID: `recovery/Production/UUID/NONCE`.
struct NotificationID: Hashable {
    let environment: Environment
    let uuid: Identifier
    /// A secret part, because an ingestion service may copy correlation IDs from its clients.
    let nonce: String

    private static let prefix = Array("recovery/".utf8)

    var correlationID: [UInt8] { Self.prefix + Array("\(environment.rawValue)/\(uuid.text)/\(nonce)".utf8) }

    init(environment: Environment, uuid: Identifier, nonce: String) {
        self.environment = environment
        self.uuid = uuid
        self.nonce = nonce
    }

    /// The UUID as stored in the table `notifications`.
    ///
    /// The hash of the signed payload replaces a UUID that is missing or too long.
    static func uuid(of notification: ListedNotification) -> Identifier {
        guard let uuid = notification.uuid, uuid.byteCount <= uuidBytesMax else {
            return Identifier(SHA256.digest(notification.signedPayload).hex)
        }
        return Identifier(uuid.text.lowercased())
    }

    private static let uuidBytesMax = 128

    /// Parses a correlation ID.
    ///
    /// `nil` for an ID that `recovery-worker` did not create.
    init?(correlationID: [UInt8]) {
        guard correlationID.starts(with: Self.prefix) else { return nil }
        let rest = correlationID.dropFirst(Self.prefix.count)
        let slash = UInt8(ascii: "/")
        guard let first = rest.firstIndex(of: slash), let last = rest.lastIndex(of: slash), first < last else {
            return nil
        }
        environment = Environment(rawValue: String(decoding: rest[..<first], as: UTF8.self))
        uuid = Identifier(String(decoding: rest[(first + 1)..<last], as: UTF8.self))
        nonce = String(decoding: rest[(last + 1)...], as: UTF8.self)
    }
}
