import AppStore
package import Kafka

/// The topics of one pipeline, by their names without the configured prefix.
///
/// The stages' inputs come first, in the order of the flow, then the other outputs.
package enum Topic {
    /// Bodies as Apple or the app sent them.
    package static let raw = "raw"
    /// Observations, the output of `verify-worker`.
    package static let verified = "verified"
    /// Observations with new content.
    package static let unique = "unique"
    /// Observations with the owner of the purchase.
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
    /// The topics that programs outside the pipeline write, or several of its programs.
    private static let writtenByOthers: Set = [raw, linked, deadLetter, outcomes]

    /// Whether brokers store the records of a topic, named with its prefix, uncompressed.
    ///
    /// Producers then send its records uncompressed too, so that no broker rewrites their batches.
    package static func isUncompressed(_ topic: String) -> Bool { writtenByOthers.contains { topic.hasSuffix($0) } }

    /// The required settings of a topic, by Kafka's names.
    ///
    /// Other settings would let its records be refused, lost, or larger than their reader can hold. The value of
    /// `max.message.bytes` is a minimum.
    ///
    /// - Parameter name: the topic's name without the prefix.
    package static func requiredSettings(of name: String) -> [String: String] {
        var settings = [
            // A body of 1 MiB with its headers and an observation's head; a dead letter contains a record of that
            // size, and the headers with the reason.
            "max.message.bytes": String((name == deadLetter ? 3 : 2) << 20),
            // A compacted topic would drop records that later records of the same purchase supersede. The topic of
            // current states keeps the last record of each user, whatever its age.
            "cleanup.policy": name == current ? "compact" : "delete",
            // An out-of-sync replica may never become the leader: it would drop acknowledged records.
            "unclean.leader.election.enable": "false",
        ]
        if name == raw {
            // The timestamp is from the broker's clock. With the writer's clock, a wrong time would empty the topic by
            // retention before it is read, and a chosen time would decide which of two claims came first.
            settings["message.timestamp.type"] = "LogAppendTime"
        }
        if writtenByOthers.contains(name) {
            // The broker compares the stored size with its limit: compressed by the writer, 2 MiB may contain 2 GiB.
            settings["compression.type"] = "uncompressed"
        }
        return settings
    }
}

/// The names of the headers on the pipeline's records, as bytes.
///
/// The headers of dead letters are in `DeadLetterHeader`.
package enum RecordHeader {
    /// The name of the request that waits for a record's outcome.
    package static let correlationID = Array("correlation-id".utf8)
    /// The trace context of W3C Trace Context.
    package static let traceparent = Array("traceparent".utf8)
    /// The dead letter from which a body was sent again.
    package static let replayOf = Array(DeadLetterHeader.replayOf.utf8)
    /// The headers that are forwarded with a record from `raw` to the last topic.
    fileprivate static let travelling = [correlationID, traceparent, replayOf, Array(DeadLetterHeader.attempt.utf8)]
    /// The user that the ingestion service names beside a raw record.
    package static let userID = Array("user-id".utf8)
    /// The headers in which producers name themselves.
    ///
    /// The header `ce_source` is from CloudEvents (Kafka Protocol Binding 1.0.2, section 3.2.3.1).
    package static let producer: Set<[UInt8]> = [
        Array("producer".utf8), Array("client-id".utf8), Array("source".utf8), Array("ce_source".utf8),
    ]
}

extension [KafkaHeader] {
    /// The headers that are forwarded with a record from `raw` to the last topic.
    ///
    /// The first header of each name counts, if it is short text: these headers are repeated in all outputs of a body.
    package var travelling: [KafkaHeader] {
        guard contains(where: \.isTravelling) else { return [] }
        return RecordHeader.travelling.compactMap { name in first { $0.nameBytes == name } }.filter {
            ShortText.isAcceptable($0.value ?? [])
        }
    }

    /// Number of headers with these names that are not forwarded.
    package var refusedTravelling: Int {
        let named = count(where: \.isTravelling)
        return named == 0 ? 0 : named - travelling.count
    }
}

extension KafkaHeader {
    /// Whether the header's name is one that is forwarded with a record to the last topic.
    fileprivate var isTravelling: Bool { RecordHeader.travelling.contains(nameBytes) }
}

extension ConsumerRecord {
    /// The request that waits for the record's outcome.
    ///
    /// `nil` if no request waits.
    package var correlationID: [UInt8]? {
        headers.travelling.first { $0.nameBytes == RecordHeader.correlationID }.flatMap(\.value)
    }

    /// Whether the record's body was sent again from a dead letter.
    package var isReplayed: Bool { headers.travelling.contains { $0.nameBytes == RecordHeader.replayOf } }
}
