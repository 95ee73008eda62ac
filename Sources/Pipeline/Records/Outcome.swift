package import AppStore
import Entitlements
import JSON
package import Kafka

/// The result of one observation, for the waiting request.
package struct Outcome: Sendable {
    package enum Status: String, Sendable, CaseIterable {
        /// The observation changed a fact or a row.
        case applied
        /// Everything in the observation was already known.
        case duplicate
        /// A newer revision is known.
        case superseded
        /// The observation is recorded, but its purchase has no owner yet.
        case unlinked
        /// The observation has no fact and is recorded in the history.
        case recorded
        /// The body is a response without items.
        case ignored
        case deadLettered = "dead_lettered"
    }

    package var status: Status
    /// The reason of a dead letter, from a closed set.
    package var reason: String?
    /// The owner of the purchase.
    ///
    /// `nil` if unknown.
    package var userID: Identifier?
    /// The raw value of an `OwnershipRule`: the rule that found the owner, or the reason why no rule did.
    ///
    /// `nil` if the record was refused, or has no purchase and no known account.
    package var ownerRule: String?
    /// The user's entitlements in the observation's environment, as one JSON array.
    ///
    /// Set only for the last observation of a body, if its user is known.
    package var entitlements: [UInt8]?
    /// The instant of PostgreSQL's clock at which the entitlements were read.
    ///
    /// `nil` without them.
    package var asOf: Timestamp?
    /// The entitlements that did not fit, and where to read all of them, as one JSON object.
    ///
    /// `nil` if no entitlement is omitted.
    package var omitted: [UInt8]?

    package init(_ status: Status, reason: String? = nil, userID: Identifier? = nil, entitlements: [UInt8]? = nil) {
        self.status = status
        self.reason = reason
        self.userID = userID
        self.entitlements = entitlements
    }
}

/// A writer of answers to records with a correlation ID: one record on `outcomes` for each result.
package struct OutcomeWriter: Sendable {
    private let topic: String
    private let readsObservations: Bool

    /// - Parameter readsObservations: whether the stage reads observations; false for `verify-worker`, which reads
    ///   bodies.
    package init(topic: String, readsObservations: Bool) {
        self.topic = topic
        self.readsObservations = readsObservations
    }

    /// Makes the answer to the request that waits for a record.
    ///
    /// `nil` if no request waits.
    package func record(for record: ConsumerRecord, _ outcome: Outcome) -> ProducerRecord? {
        guard let id = record.correlationID else { return nil }
        return ProducerRecord(
            topic: topic, key: id, value: value(of: record, id, outcome), headers: record.headers.travelling)
    }

    private func value(of record: ConsumerRecord, _ id: [UInt8], _ outcome: Outcome) -> [UInt8] {
        let observation = readsObservations ? try? Observation(record) : nil
        var writer = JSONWriter(reserving: 512 + (outcome.entitlements?.count ?? 0))
        writer.beginObject()
        writer.key("schemaVersion")
        writer.int(1)
        writer.key("correlationID")
        writer.string(utf8: id)
        // A refused or ignored body has a single outcome.
        write(observation?.source ?? ObservationSource(RecordPosition(record)), to: &writer)
        writer.key("status")
        writer.string(outcome.status.rawValue)
        if let reason = outcome.reason {
            writer.key("reason")
            writer.string(reason)
        }
        if let observation { write(observation, to: &writer) }
        writer.key("userID")
        if let user = outcome.userID { writer.string(user) } else { writer.null() }
        if let rule = outcome.ownerRule {
            writer.key("ownerRule")
            writer.string(rule)
        }
        writer.key("entitlements")
        if let held = outcome.entitlements { writer.raw(held) } else { writer.null() }
        if let asOf = outcome.asOf {
            writer.key("asOf")
            writer.int(asOf.milliseconds)
        }
        if let omitted = outcome.omitted {
            writer.key("omitted")
            writer.raw(omitted)
        }
        writer.endObject()
        return writer.bytes
    }

    private func write(_ source: ObservationSource, to writer: inout JSONWriter) {
        writer.key("index")
        writer.int(source.index)
        writer.key("count")
        writer.int(source.count)
        writer.key("source")
        writer.object { $0.position(source.position) }
    }

    private func write(_ observation: Observation, to writer: inout JSONWriter) {
        let transaction = observation.facts.transaction
        writer.key("environment")
        writer.string(observation.environment.rawValue)
        for (name, text) in [
            ("bundleID", observation.bundleID), ("originalTransactionID", observation.originalTransactionID),
            ("transactionID", transaction?.key.transactionID), ("productID", transaction?.identity.productID),
        ] {
            guard let text else { continue }
            writer.key(name)
            writer.string(text)
        }
    }
}
