package import JSON

/// A server notification (`ResponseBodyV2DecodedPayload`), read leniently in one pass.
///
/// Exactly one of `data`, `summary`, `externalPurchaseToken` and `appData` is there in what Apple
/// sends.
package struct NotificationPayload: Sendable {
    package private(set) var type: PayloadText?
    package private(set) var subtype: PayloadText?
    package private(set) var uuid: PayloadText?
    package private(set) var version: PayloadText?
    package private(set) var signedDate: Timestamp?
    package private(set) var data: NotificationSubject?
    package private(set) var summary: NotificationSubject?
    package private(set) var externalPurchaseToken: NotificationSubject?
    package private(set) var appData: NotificationSubject?
    /// Counts those of the nested objects too.
    package private(set) var malformedFields = 0

    /// - Parameter payload: the object Apple signed; of any other value no field is known.
    package init(_ payload: JSONValue) {
        var reader = FieldReader()
        for (key, value) in payload.members {
            if let field = Self.fields.field(named: key) {
                read(field, value, &reader)
            }
        }
        malformedFields = reader.malformedFields
    }

    private static let fields = FieldTable<Field>()

    private enum Field: String, PayloadField {
        case notificationType, subtype, notificationUUID, version, signedDate
        case data, summary, externalPurchaseToken, appData
    }

    private mutating func read(
        _ field: Field,
        _ value: JSONValue,
        _ reader: inout FieldReader
    ) {
        switch field {
        case .notificationType: type = reader.identifier(value)
        case .subtype: subtype = reader.identifier(value)
        case .notificationUUID: uuid = reader.identifier(value)
        case .version: version = reader.text(value)
        case .signedDate: signedDate = reader.date(value)
        case .data: data = subject(value, &reader)
        case .summary: summary = subject(value, &reader)
        case .externalPurchaseToken: externalPurchaseToken = subject(value, &reader)
        case .appData: appData = subject(value, &reader)
        }
    }

    private func subject(
        _ value: JSONValue,
        _ reader: inout FieldReader
    ) -> NotificationSubject? {
        guard let object = reader.object(value) else { return nil }
        let subject = NotificationSubject(object)
        reader.add(subject.malformedFields)
        return subject
    }
}
