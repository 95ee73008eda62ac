package import AppStore
import Entitlements
import JSON
package import Kafka
import OpenSSL

/// An observation with its encoded head, so that the record's size is known before the record is made.
package struct EncodedObservation: Sendable {
    private let observation: Observation
    /// The head without its closing brace: a comma and the payloads follow in the record.
    private let head: [UInt8]

    fileprivate init(_ observation: Observation, head: [UInt8]) {
        self.observation = observation
        self.head = head
    }

    /// Maximum size of the record's value in bytes.
    package var valueBytes: Int { head.count + observation.payloads.writtenBytes }

    /// - Parameter headers: the headers to forward with the record.
    package func record(for topic: String, headers: [KafkaHeader] = []) -> ProducerRecord {
        var value: [UInt8] = []
        value.reserveCapacity(valueBytes)
        value.append(contentsOf: head)
        observation.payloads.append(to: &value)
        return ProducerRecord(topic: topic, key: observation.partitionKey, value: value, headers: headers)
    }
}

extension Observation {
    /// Encodes the head, which `schemas/topics/verified.schema.json` describes.
    package func encoded() -> EncodedObservation {
        var writer = JSONWriter(reserving: 1_536)
        writer.beginObject()
        writer.key("schemaVersion")
        writer.int(Self.schemaVersion)
        writer.optionalString("relinkedPurchase", relinkedPurchase)
        if let source {
            writer.key("source")
            source.write(to: &writer)
        }
        writer.key("environment")
        writer.string(environment.rawValue)
        writer.key("bundleID")
        if let bundleID { writer.string(bundleID) } else { writer.null() }
        if let verification {
            writer.key("verification")
            verification.write(to: &writer)
        }
        if !facts.isEmpty {
            writer.key("facts")
            facts.value.write(to: &writer)
        }
        if !payloads.isEmpty {
            writer.key("payloadBytes")
            payloads.writeLengths(to: &writer)
        }
        if let notification {
            writer.key("notification")
            notification.write(to: &writer)
        }
        if !claims.isEmpty {
            writer.key("claims")
            claims.write(to: &writer)
        }
        writer.optionalString("ingestUserID", ingestUserID)
        if isDuplicate {
            writer.key("isDuplicate")
            writer.bool(true)
        }
        if let owner {
            writer.key("owner")
            owner.write(to: &writer)
        }
        if let input {
            writer.key("input")
            input.write(to: &writer)
        }
        writer.endObject()
        var head = writer.takeBytes()
        head.removeLast()
        return EncodedObservation(self, head: head)
    }

    package func record(for topic: String, headers: [KafkaHeader] = []) -> ProducerRecord {
        encoded().record(for: topic, headers: headers)
    }

    /// Reads a record that a stage wrote.
    ///
    /// Only the head is parsed; a stage wrote every record on these topics after it had verified the body, so payloads
    /// are not read.
    ///
    /// - Throws: `ObservationError`, whose detail contains nothing from the record.
    package init(_ record: ConsumerRecord) throws(ObservationError) { try self.init(value: record.value) }

    package init(value: [UInt8]?) throws(ObservationError) {
        guard let value, !value.isEmpty else { throw .noValue }
        do { try self.init(inOrder: value) } catch { try self.init(parsing: value) }
    }

    /// Reads a value whose head has the usual order, which is the cheapest way.
    ///
    /// - Throws: an error without details for any other head, which may be valid.
    package init(inOrder value: [UInt8]) throws(ObservationError) {
        var head = try HeadCursor(value)
        try self.init(reading: &head, value)
    }

    /// Reads a value whose head is a JSON object of any form.
    package init(parsing value: [UInt8]) throws(ObservationError) {
        let document: JSONDocument
        do { document = try JSONDocument(parsing: value, upToMember: ObservationPayloads.member) } catch {
            throw .notJSON(error)
        }
        var head = try HeadReader(document.root)
        try self.init(reading: &head, value)
    }
}

extension ConsumerRecord {
    /// The record's observation, forwarded with this record as its input.
    ///
    /// - Parameter inputRange: the range of the observation's input, as it was read; `nil` encodes the observation
    ///   again.
    /// - Throws: an error if `inputRange` is `nil` and the record contains no observation; the following functions do
    ///   the same.
    package func forwarded(to topic: String, _ inputRange: Range<Int>?) throws(ObservationError) -> ProducerRecord {
        try changed(for: topic, inputRange) { _ in
        } or: { _ in
        }
    }

    /// The record's observation, marked as a duplicate.
    package func marked(for topic: String, _ inputRange: Range<Int>?) throws(ObservationError) -> ProducerRecord {
        try changed(for: topic, inputRange) { writer in
            writer.key("isDuplicate")
            writer.bool(true)
        } or: { observation in
            observation.isDuplicate = true
        }
    }

    /// The record's observation with its owner.
    ///
    /// - Parameter environment: the observation's, for the key of the owner; `nil` keeps the record's key.
    package func owned(
        by owner: ObservedOwner, in environment: Environment?, for topic: String, _ inputRange: Range<Int>?
    ) throws(ObservationError) -> ProducerRecord {
        var record = try changed(for: topic, inputRange) { writer in
            writer.key("owner")
            owner.write(to: &writer)
        } or: { observation in
            observation.owner = owner
        }
        if let environment, let userID = owner.userID { record.key = environment.partitionKey(userID.text) }
        return record
    }

    /// - Parameters:
    ///   - inputRange: the range that the output of `write` and the input replace.
    ///   - change: the same change as `write`, for an observation that is encoded again.
    private func changed(
        for topic: String, _ inputRange: Range<Int>?, _ write: (inout JSONWriter) -> Void,
        or change: (inout Observation) -> Void
    ) throws(ObservationError) -> ProducerRecord {
        let input = InputPosition(self)
        guard let former = value, let inputRange else {
            var observation = try Observation(self)
            change(&observation)
            observation.input = input
            return observation.record(for: topic, headers: headers)
        }
        var head: [UInt8] = []
        head.reserveCapacity(former.count + Self.memberBytesExpected)
        head.append(contentsOf: former[..<inputRange.lowerBound])
        var writer = JSONWriter(continuing: consume head)
        write(&writer)
        writer.key("input")
        input.write(to: &writer)
        var value = writer.takeBytes()
        value.append(contentsOf: former[inputRange.upperBound...])
        return ProducerRecord(topic: topic, key: key, value: value, headers: headers)
    }

    /// Estimated bytes for an owner with a user ID, the name of a rule and the input.
    private static let memberBytesExpected = 192
}

extension Observation {
    /// The record key on `verified`, `unique` and `linked`.
    ///
    /// The key is `<environment>/app/<appTransactionId>`. Without such an ID it is `<environment>/<user ID>` once an
    /// owner is known, before `<environment>/<originalTransactionId>` or `<environment>/notification/<UUID>`; without
    /// any of these IDs the SHA-256 of the payload. Records that take the same locks share a key and a partition: those
    /// of an Apple Account in `link-worker`, and in `entitle-worker` those of a user, who has one account as a rule. So
    /// copies of a worker do not wait for each other; correctness never depends on the key.
    package var partitionKey: [UInt8] { environment.partitionKey(partitionKeySuffix) }

    /// The ID of the Apple Account in the app.
    ///
    /// `nil` if no fact names it.
    package var accountID: Identifier? {
        facts.transaction?.appTransactionID ?? facts.renewal?.appTransactionID ?? facts.appTransaction?.appTransactionID
    }

    private var partitionKeySuffix: String {
        if let accountID { return "app/" + accountID.text }
        if let user = owner?.userID { return user.text }
        if let originalTransactionID { return originalTransactionID.text }
        if let uuid = notification?.uuid { return "notification/" + uuid }
        if let payload = payloads[.appTransaction] { return "app/" + SHA256.digest(payload).hex }
        return "notification/" + SHA256.digest(notificationIdentity).hex
    }

    /// The text that replaces the payload of a notification, which an observation does not contain.
    private var notificationIdentity: [UInt8] {
        var writer = JSONWriter(reserving: 128)
        if let notification { notification.write(to: &writer) } else { writer.null() }
        return writer.bytes
    }
}

extension Environment {
    fileprivate func partitionKey(_ suffix: String) -> [UInt8] { Array("\(rawValue)/\(suffix)".utf8) }

    /// The record key of everything that an Apple Account has bought in an app.
    package func partitionKey(ofAccount id: Identifier) -> [UInt8] { partitionKey("app/" + id.text) }
}
