import AppStore
import JSON
import OpenSSL

extension Observation {
    /// Reads a record value that a stage wrote.
    ///
    /// Only its shape is checked, as every record on these topics was written by a stage after it
    /// had verified the body; payloads are not interpreted here.
    ///
    /// - Throws: `ObservationError`, whose detail holds none of the record's content.
    package init(decoding value: [UInt8]?) throws(ObservationError) {
        guard let value, !value.isEmpty else { throw .noValue }
        let document: JSONDocument
        do {
            document = try JSONDocument(parsing: value)
        } catch {
            throw .notJSON(error)
        }
        try self.init(root: ObservationReader(document.root))
    }

    private init(root: ObservationReader) throws(ObservationError) {
        let version = try root.int("schemaVersion")
        guard Self.readableVersions.contains(version) else { throw .schemaVersion(version) }
        let relinked = try root.optionalString("relinkedPurchase")
        // Only what no body says goes without its source and its signature.
        let isUnsigned = relinked != nil && root.value["source"] == nil
        try self.init(
            source: isUnsigned ? nil : ObservationSource(reading: root.object("source")),
            environment: Environment(rawValue: root.string("environment")),
            bundleID: root.optionalString("bundleID"),
            transaction: root.optionalObject("transaction")?.value,
            renewalInfo: root.optionalObject("renewalInfo")?.value,
            appTransaction: root.optionalObject("appTransaction")?.value,
            receipt: root.optionalObject("receipt")?.value,
            notification: ObservedNotification(reading: root.optionalObject("notification")),
            verification: isUnsigned
                ? nil : VerificationFacts(reading: root.object("verification")),
            claims: ObservationClaims(reading: root.optionalObject("claims")),
            ingestUserID: root.optionalString("ingestUserID"),
            owner: ObservedOwner(reading: root.optionalObject("owner")),
            relinkedPurchase: relinked,
            isDuplicate: root.value["isDuplicate"]?.bool ?? false
        )
    }
}

extension ObservationSource {
    fileprivate init(reading object: ObservationReader) throws(ObservationError) {
        let partition = try object.int("partition")
        guard let partition = Int32(exactly: partition) else {
            throw object.missing("partition")
        }
        try self.init(
            topic: object.string("topic"),
            partition: partition,
            offset: object.int("offset"),
            timestamp: object.optionalTimestamp("timestamp"),
            index: Int(object.int("index")),
            count: Int(object.int("count"))
        )
    }
}

extension ObservedNotification {
    fileprivate init?(reading object: ObservationReader?) throws(ObservationError) {
        guard let object else { return nil }
        try self.init(
            type: object.string("type"),
            subtype: object.optionalString("subtype"),
            uuid: object.optionalString("uuid"),
            signedDate: object.timestamp("signedDate")
        )
    }
}

extension VerificationFacts {
    fileprivate init(reading object: ObservationReader) throws(ObservationError) {
        guard let trust = Trust(text: try object.string("trust")) else {
            throw object.missing("trust")
        }
        guard let method = Method(rawValue: try object.string("method")) else {
            throw object.missing("method")
        }
        try self.init(
            signedDate: object.timestamp("signedDate"),
            leaf: object.digest("leaf"),
            root: object.digest("root"),
            trust: trust,
            method: method,
            verifier: object.string("verifier")
        )
    }
}

extension ObservationClaims {
    fileprivate init(reading object: ObservationReader?) throws(ObservationError) {
        self.init()
        guard let object else { return }
        transactionID = try object.optionalString("transactionID")
        originalTransactionID = try object.optionalString("originalTransactionID")
        productID = try object.optionalString("productID")
        offerID = try object.optionalString("offerID")
    }
}

extension ObservedOwner {
    fileprivate init?(reading object: ObservationReader?) throws(ObservationError) {
        guard let object else { return nil }
        try self.init(userID: object.optionalString("userID"), rule: object.string("rule"))
    }
}
