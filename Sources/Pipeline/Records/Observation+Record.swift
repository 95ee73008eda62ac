package import AppStore
import Entitlements
import JSON
package import Kafka
import OpenSSL

/// An observation with its written head, so that the record's size is known before it is made.
package struct EncodedObservation: Sendable {
    private let observation: Observation
    /// The head without its closing brace: a comma and the payloads follow.
    private let head: [UInt8]

    fileprivate init(_ observation: Observation, head: [UInt8]) {
        self.observation = observation
        self.head = head
    }

    /// The greatest size of the record's value.
    package var valueBytes: Int { head.count + observation.payloads.writtenBytes }

    /// - Parameter headers: the headers to forward with it.
    package func record(for topic: String, headers: [KafkaHeader] = []) -> ProducerRecord {
        var value: [UInt8] = []
        value.reserveCapacity(valueBytes)
        value.append(contentsOf: head)
        observation.payloads.append(to: &value)
        return ProducerRecord(topic: topic, key: observation.partitionKey, value: value, headers: headers)
    }
}

extension Observation {
    /// The head, as `schemas/topics/verified.schema.json` describes it.
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
    /// Only its head is parsed; every record on these topics was written by a stage after it had
    /// verified the body, so payloads are not read.
    ///
    /// - Throws: `ObservationError`, whose detail holds none of the record's content.
    package init(_ record: ConsumerRecord) throws(ObservationError) { try self.init(value: record.value) }

    package init(value: [UInt8]?) throws(ObservationError) {
        guard let value, !value.isEmpty else { throw .noValue }
        do { try self.init(inOrder: value) } catch { try self.init(parsing: value) }
    }

    /// Reads a value whose head has the usual order, which costs less than any other.
    ///
    /// - Throws: an error without details for any other head, which may be good.
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
    /// - Parameter inputRange: that of the observation, as it was read; nil writes it again.
    /// - Throws: if it is nil and the record holds no observation, as for all that follow.
    package func forwarded(to topic: String, _ inputRange: Range<Int>?) throws(ObservationError) -> ProducerRecord {
        try changed(for: topic, inputRange) { _ in
        } or: { _ in
        }
    }

    /// The observation that the record holds, marked as a duplicate.
    package func marked(for topic: String, _ inputRange: Range<Int>?) throws(ObservationError) -> ProducerRecord {
        try changed(for: topic, inputRange) { writer in
            writer.key("isDuplicate")
            writer.bool(true)
        } or: { observation in
            observation.isDuplicate = true
        }
    }

    /// The observation that the record holds, with its owner, under the key of that user.
    ///
    /// - Parameter environment: the observation's.
    package func owned(
        by owner: ObservedOwner, in environment: Environment, for topic: String, _ inputRange: Range<Int>?
    ) throws(ObservationError) -> ProducerRecord {
        var record = try changed(for: topic, inputRange) { writer in
            writer.key("owner")
            owner.write(to: &writer)
        } or: { observation in
            observation.owner = owner
        }
        if let userID = owner.userID { record.key = environment.partitionKey(userID.text) }
        return record
    }

    /// - Parameters:
    ///   - inputRange: the range to replace by the output of `write` and the input.
    ///   - change: makes the same change to an observation that is written again.
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

    /// Bytes that suffice for an owner with a user ID, the name of a rule and the input.
    private static let memberBytesExpected = 192
}

extension Observation {
    /// The record key on `verified`, `unique` and `linked`.
    ///
    /// `<environment>/<user ID>` once an owner was found; before
    /// `<environment>/app/<appTransactionId>`; without such an ID
    /// `<environment>/<originalTransactionId>` or `<environment>/notification/<UUID>`; without any
    /// of them the SHA-256 of the payload. It keeps in one partition what takes the same locks, of an
    /// Apple Account in `link-worker` and of a user in `entitle-worker`, so that copies do not wait for
    /// each other; correctness never depends on it.
    package var partitionKey: [UInt8] { environment.partitionKey(owner?.userID?.text ?? partitionKeySuffix) }

    private var partitionKeySuffix: String {
        let account =
            facts.transaction?.appTransactionID ?? facts.renewal?.appTransactionID
            ?? facts.appTransaction?.appTransactionID
        if let account { return "app/" + account.text }
        if let originalTransactionID { return originalTransactionID.text }
        if let uuid = notification?.uuid { return "notification/" + uuid }
        if let payload = payloads[.appTransaction] { return "app/" + SHA256.digest(payload).hex }
        return "notification/" + SHA256.digest(notificationIdentity).hex
    }

    /// Replaces the payload, which a notification does not have in an observation.
    private var notificationIdentity: [UInt8] {
        var writer = JSONWriter(reserving: 128)
        if let notification { notification.write(to: &writer) } else { writer.null() }
        return writer.bytes
    }
}

extension Environment {
    fileprivate func partitionKey(_ suffix: String) -> [UInt8] { Array("\(rawValue)/\(suffix)".utf8) }
}
