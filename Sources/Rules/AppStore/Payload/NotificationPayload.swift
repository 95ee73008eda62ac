package import JSON

/// A server notification (`ResponseBodyV2DecodedPayload`), read leniently in one pass.
///
/// Apple sends exactly one of `data`, `summary`, `externalPurchaseToken`, `appData` and `unclaimInfo`, or an object
/// that this version does not know.
package struct NotificationPayload: Sendable {
    package private(set) var type: PayloadText?
    package private(set) var subtype: PayloadText?
    package private(set) var uuid: PayloadText?
    package private(set) var signedDate: Timestamp?
    package private(set) var data: NotificationSubject?
    package private(set) var summary: NotificationSubject?
    package private(set) var externalPurchaseToken: NotificationSubject?
    package private(set) var appData: NotificationSubject?
    package private(set) var unclaimInfo: NotificationSubject?
    /// The first other object that names an app, if none of the objects above does.
    package private(set) var newBody: NotificationSubject?
    /// Whether `data` or `appData`, which may contain purchases, is neither an object nor null.
    package private(set) var hasUnreadableBody = false
    /// Number of malformed fields, including those of the nested objects.
    package private(set) var malformedFields = 0

    /// - Parameter payload: the signed object; any other value has no fields.
    package init(_ payload: JSONValue) {
        malformedFields = Self.fields.read(payload) { read($0, $1, by: &$2) }
        if documentedSubject == nil, unclaimInfo?.bundleID == nil { newBody = Self.newBody(in: payload) }
    }

    private static let fields = FieldTable<Field>()

    enum Field: String, PayloadField {
        case notificationType, subtype, notificationUUID, signedDate
        case data, summary, externalPurchaseToken, appData, unclaimInfo

        static let checked: [FieldKind: [String]] = [.text: ["version"]]
    }

    private static func newBody(in payload: JSONValue) -> NotificationSubject? {
        for (key, value) in payload.members where value.kind == .object && !fields.contains(key) {
            let subject = NotificationSubject(value)
            if subject.bundleID != nil { return subject }
        }
        return nil
    }

    private mutating func read(_ field: Field, _ value: JSONValue, by reader: inout FieldReader) {
        switch field {
        case .notificationType: type = reader.identifier(value)
        case .subtype: subtype = reader.identifier(value)
        case .notificationUUID: uuid = reader.identifier(value)
        case .signedDate: signedDate = reader.date(value)
        case .data: data = purchases(value, &reader)
        case .summary: summary = subject(value, &reader)
        case .externalPurchaseToken: externalPurchaseToken = subject(value, &reader)
        case .appData: appData = purchases(value, &reader)
        case .unclaimInfo: unclaimInfo = subject(value, &reader)
        }
    }

    private mutating func purchases(_ value: JSONValue, _ reader: inout FieldReader) -> NotificationSubject? {
        let subject = subject(value, &reader)
        hasUnreadableBody = hasUnreadableBody || subject == nil && !value.isNull
        return subject
    }

    private func subject(_ value: JSONValue, _ reader: inout FieldReader) -> NotificationSubject? {
        guard let object = reader.object(value) else { return nil }
        let subject = NotificationSubject(object)
        reader.add(subject.malformedFields)
        return subject
    }
}

extension NotificationPayload {
    /// The documented object that names the notification's app.
    package var documentedSubject: NotificationSubject? { data ?? summary ?? externalPurchaseToken ?? appData }

    /// The object that names the notification's app.
    package var subject: NotificationSubject? { documentedSubject ?? newBody ?? unclaimInfo }
}

/// The subject of a notification: `data`, `summary` or another object that names the app.
///
/// A single type serves all of these objects, because a field's name has the same meaning in each; a missing field is
/// `nil`.
package struct NotificationSubject: Sendable {
    /// The object as signed, including fields that have no property here.
    package let json: JSONValue
    package private(set) var environment: PayloadText?
    package private(set) var appAppleID: Int64?
    package private(set) var bundleID: PayloadText?
    package private(set) var externalPurchaseID: PayloadText?
    package private(set) var consumptionRequestReason: PayloadText?
    package private(set) var malformedFields = 0

    package init(_ object: JSONValue) {
        json = object
        malformedFields = Self.fields.read(object) { read($0, $1, by: &$2) }
    }

    /// The environment of an external purchase token, whose ID begins with `SANDBOX` in the sandbox.
    package var externalPurchaseEnvironment: Environment? {
        externalPurchaseID.map { id in id.bytes.starts(with: "SANDBOX".utf8) ? .sandbox : .production }
    }

    private static let fields = FieldTable<Field>()

    enum Field: String, PayloadField {
        case environment, appAppleId, bundleId, externalPurchaseId, consumptionRequestReason

        static let checked: [FieldKind: [String]] = [
            .text: [
                "bundleVersion", "signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo",
                "requestIdentifier", "tokenType",
            ], .identifier: ["productId"], .date: ["tokenCreationDate", "tokenExpirationDate"], .int32: ["status"],
            .int64: ["succeededCount", "failedCount"], .array: ["storefrontCountryCodes"],
        ]
    }

    private mutating func read(_ field: Field, _ value: JSONValue, by reader: inout FieldReader) {
        switch field {
        case .environment: environment = reader.identifier(value)
        case .appAppleId: appAppleID = reader.int64(value)
        case .bundleId: bundleID = reader.identifier(value)
        case .externalPurchaseId: externalPurchaseID = reader.identifier(value)
        case .consumptionRequestReason: consumptionRequestReason = reader.identifier(value)
        }
    }
}
