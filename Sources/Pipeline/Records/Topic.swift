import AppStore
package import Kafka

/// The topics of one pipeline, by their names without the configured prefix.
///
/// The stages' inputs in the order of the flow, then their other outputs.
package enum Topic {
    /// Bodies as Apple or the app produced them.
    package static let raw = "raw"
    /// Observations: `verify-worker`'s output.
    package static let verified = "verified"
    /// Observations with new content.
    package static let unique = "unique"
    /// Observations with the user behind the purchase.
    package static let linked = "linked"
    /// Refused records, with the reason.
    package static let deadLetter = "dead-letter"
    /// The results of records that carry a correlation ID.
    package static let outcomes = "outcomes"
    /// Every change of a user's entitlements.
    package static let changed = "entitlements.changed"
    /// The newest state of each user.
    package static let current = "entitlements.current"
}

extension Topic {
    /// The topics that other programs than the pipeline's write, or many of its programs.
    private static let writtenByOthers: Set = [raw, linked, deadLetter, outcomes]

    /// Whether brokers store the records of a topic, named with its prefix, uncompressed: they are
    /// sent so too, so that no broker writes their batches again.
    package static func isUncompressed(_ topic: String) -> Bool { writtenByOthers.contains { topic.hasSuffix($0) } }

    /// A topic's settings by Kafka's names, without which its records would be refused, lost, or
    /// larger than their reader can hold; that of `max.message.bytes` is a minimum.
    ///
    /// - Parameter name: without the prefix.
    package static func requiredSettings(of name: String) -> [String: String] {
        var settings = [
            // A body of 1 MiB, its headers, and an observation's head; a dead letter is a record
            // at that limit, and the headers that say why.
            "max.message.bytes": String((name == deadLetter ? 3 : 2) << 20),
            // A compacted topic drops what another record of the same purchase follows. Of the
            // newest states the last of each user stays, whatever its age.
            "cleanup.policy": name == current ? "compact" : "delete",
            // A replica that lags may never lead: it would drop records that were acknowledged.
            "unclean.leader.election.enable": "false",
        ]
        if name == raw {
            // The clock of the broker: with the writer's, a wrong time empties the topic by
            // retention before it is read, and a chosen one decides which of two claims came first.
            settings["message.timestamp.type"] = "LogAppendTime"
        }
        if writtenByOthers.contains(name) {
            // The broker compares the stored size with its limit: in a writer's codec, 2 MiB hold
            // 2 GiB.
            settings["compression.type"] = "uncompressed"
        }
        return settings
    }
}

/// The names of the headers on our topics' records, as bytes.
///
/// The headers of dead letters are in `DeadLetterHeader`.
package enum RecordHeader {
    /// Names the request that waits for a record's outcome.
    package static let correlationID = Array("correlation-id".utf8)
    /// W3C Trace Context.
    package static let traceparent = Array("traceparent".utf8)
    /// The dead letter that a body was sent again for.
    package static let replayOf = Array(DeadLetterHeader.replayOf.utf8)
    /// The headers that are forwarded with a record from `raw` to the end.
    fileprivate static let travelling = [correlationID, traceparent, replayOf, Array(DeadLetterHeader.attempt.utf8)]
    /// The user that the ingestion service names beside a raw record.
    package static let userID = Array("user-id".utf8)
    /// The headers by which producers name themselves.
    ///
    /// `ce_source` is CloudEvents' (Kafka Protocol Binding 1.0.2, section 3.2.3.1).
    package static let producer: Set<[UInt8]> = [
        Array("producer".utf8), Array("client-id".utf8), Array("source".utf8), Array("ce_source".utf8),
    ]
}

extension [KafkaHeader] {
    /// The headers that are forwarded with a record from `raw` to the end.
    ///
    /// The first of each name counts, if it is short text: they are repeated in all outputs of a
    /// body.
    package var travelling: [KafkaHeader] {
        guard contains(where: \.isTravelling) else { return [] }
        return RecordHeader.travelling.compactMap { name in first { $0.nameBytes == name } }.filter {
            ShortText.isAcceptable($0.value ?? [])
        }
    }

    /// The number of headers of these names that are not forwarded.
    package var refusedTravelling: Int {
        let named = count(where: \.isTravelling)
        return named == 0 ? 0 : named - travelling.count
    }
}

extension KafkaHeader {
    /// Whether the header's name is forwarded with a record to the end.
    fileprivate var isTravelling: Bool { RecordHeader.travelling.contains(nameBytes) }
}

extension ConsumerRecord {
    /// Names the request that waits for the record's outcome; nil if none waits.
    package var correlationID: [UInt8]? {
        headers.travelling.first { $0.nameBytes == RecordHeader.correlationID }.flatMap(\.value)
    }

    /// Whether the record comes from a body that was sent again for a dead letter.
    package var isReplayed: Bool { headers.travelling.contains { $0.nameBytes == RecordHeader.replayOf } }
}
