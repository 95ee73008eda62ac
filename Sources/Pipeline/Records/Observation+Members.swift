package import AppStore
import JSON
import Kafka
import OpenSSL

// The members of an observation's head, except the facts, each with its writer and reader.

extension ObservationSource {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.position(position)
        if let timestamp {
            writer.key("timestamp")
            writer.int(timestamp.milliseconds)
        }
        writer.key("index")
        writer.int(index)
        writer.key("count")
        writer.int(count)
        writer.endObject()
    }

    init(reading object: inout some HeadMembers) throws(ObservationError) {
        try self.init(
            RecordPosition(
                topic: object.identifier("topic").text, partition: object.int("partition", in: 0...Int32.max),
                offset: object.int("offset", in: KafkaBounds.offsets)),
            timestamp: object.optionalInt("timestamp", in: Int64.min...Int64.max).map { Timestamp(milliseconds: $0) },
            index: object.int("index", in: 0...Int.max - 1), count: object.int("count", in: 1...Int.max))
    }
}

extension VerificationFacts {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("signedDate")
        writer.int(signedDate.milliseconds)
        writer.key("leaf")
        writer.digest(leaf)
        writer.key("root")
        writer.digest(root)
        writer.key("trust")
        writer.string(trust.text)
        writer.key("method")
        writer.string(method.rawValue)
        writer.key("verifier")
        writer.string(verifier)
        writer.endObject()
    }

    init(reading object: inout some HeadMembers) throws(ObservationError) {
        let signedDate = try object.date("signedDate")
        let leaf = try object.digest("leaf")
        let root = try object.digest("root")
        guard let trust = try object.optionalText("trust", { Trust(utf8: $0) }) else { throw object.missing("trust") }
        guard let method = Method(rawValue: try object.string("method")) else { throw object.missing("method") }
        self.init(
            signedDate: signedDate, leaf: leaf, root: root, trust: trust, method: method,
            verifier: try object.string("verifier"))
    }
}

extension ObservedNotification {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("type")
        writer.string(type)
        writer.optionalString("subtype", subtype)
        writer.optionalString("uuid", uuid)
        writer.key("signedDate")
        writer.int(signedDate.milliseconds)
        writer.optionalString("consumptionRequestReason", consumptionRequestReason)
        writer.endObject()
    }

    init(reading object: inout some HeadMembers) throws(ObservationError) {
        try self.init(
            type: object.string("type"), subtype: object.optionalString("subtype"),
            uuid: object.optionalIdentifier("uuid")?.text, signedDate: object.date("signedDate"),
            consumptionRequestReason: object.optionalString("consumptionRequestReason"))
    }
}

extension ObservationClaims {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.optionalString("transactionID", transactionID)
        writer.optionalString("originalTransactionID", originalTransactionID)
        writer.optionalString("productID", productID)
        writer.optionalString("offerID", offerID)
        writer.endObject()
    }

    init(reading object: inout some HeadMembers) throws(ObservationError) {
        self.init()
        transactionID = try object.optionalString("transactionID")
        originalTransactionID = try object.optionalString("originalTransactionID")
        productID = try object.optionalString("productID")
        offerID = try object.optionalString("offerID")
    }
}

extension ObservedOwner {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("userID")
        if let userID { writer.string(userID) } else { writer.null() }
        writer.key("rule")
        writer.string(rule)
        writer.endObject()
    }

    init(reading object: inout some HeadMembers) throws(ObservationError) {
        try self.init(userID: object.optionalIdentifier("userID"), rule: object.string("rule"))
    }
}

/// The position of the body, and the observation's index in it.
///
/// The source leads an auditor from a row back to Apple's data: topic, partition and offset of the body on the raw
/// topic, whatever stages have processed it since.
package struct ObservationSource: Hashable, Sendable {
    package var position: RecordPosition
    /// The broker's timestamp of the raw record in UNIX milliseconds.
    ///
    /// `nil` if the record had none.
    package var timestamp: Timestamp?
    /// The position within the body, from 0.
    package var index: Int
    package var count: Int

    /// Whether this is the body's last observation, whose outcome lists the user's entitlements.
    package var isLast: Bool { index + 1 >= count }

    /// Makes the source of a body's only observation, unless index and count are given.
    package init(_ position: RecordPosition, timestamp: Timestamp? = nil, index: Int = 0, count: Int = 1) {
        self.position = position
        self.timestamp = timestamp
        self.index = index
        self.count = count
    }
}

/// The user that `link-worker` found for a purchase when it processed the observation.
///
/// The value informs readers of the topic; the table `owners` is authoritative.
package struct ObservedOwner: Hashable, Sendable {
    /// The user that owns the purchase.
    ///
    /// `nil` while no user is linked to the purchase.
    package var userID: Identifier?
    /// The raw value of an `OwnershipRule`: the rule that decided, or the reason why no rule did.
    package var rule: String

    package init(userID: Identifier?, rule: String) {
        self.userID = userID
        self.rule = rule
    }
}
