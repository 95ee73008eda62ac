import JSON
import Kafka
import Postgres

/// Changes that are published together, and the states that their users have now.
struct FeedBatch {
    let changes: [FeedChange]
    private let versions: [(userID: String, version: Int64)]
    private let held: [String: [HeldEntitlement]]

    /// - Parameter answers: to the statements of `FeedReading`, in their order.
    init(_ answers: [PostgresRows]) {
        precondition(answers.count == 3, "three statements have three answers")
        changes = answers[0].map { FeedChange($0) }
        versions = answers[1].map { ($0.text(0), $0.int8(1)) }
        held = answers[2].reduce(into: [:]) { held, row in
            held[row.text(0), default: []].append(HeldEntitlement(row))
        }
    }

    /// The changes in their order, then each user's state, which contains them.
    func records(_ topics: FeedTopics) -> [ProducerRecord] {
        changes.map { $0.record(for: topics.changed) }
            + versions.map { userID, version in
                ProducerRecord(
                    topic: topics.current,
                    key: Array(userID.utf8),
                    value: state(of: userID, version)
                )
            }
    }

    /// As `entitlements.current.schema.json` describes it.
    private func state(of userID: String, _ version: Int64) -> [UInt8] {
        let held = held[userID] ?? []
        var writer = JSONWriter(reserving: 128 + held.count * 224)
        writer.beginObject()
        writer.key("schemaVersion")
        writer.int(1)
        writer.key("userID")
        writer.string(userID)
        writer.key("version")
        writer.int(version)
        writer.key("entitlements")
        writer.beginArray()
        for entitlement in held {
            writer.entitlement(entitlement)
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}
