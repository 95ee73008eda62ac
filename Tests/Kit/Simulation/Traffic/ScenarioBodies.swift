import AppStore
package import JSON
import OpenSSL

/// Makes a scenario's events the bodies that ingestion services would write.
package struct ScenarioBodies {
    private let app: DemoApp
    private let signers: DemoSigners
    private let renaming: (String, String) -> String?

    /// - Parameters:
    ///   - app: stands for the scenario's, in its environment or another.
    ///   - renaming: takes a member's name and text, and returns its text in the bodies; nil leaves
    ///     it as it is.
    package init(app: DemoApp, signers: DemoSigners, renaming: @escaping (_ member: String, _ text: String) -> String?)
    {
        self.app = app
        self.signers = signers
        self.renaming = renaming
    }

    /// - Parameter notificationUUID: of the event's notification, if it has one.
    package func body(of event: ScenarioEvent, notificationUUID: String) throws -> [UInt8] {
        let transaction = try event.transaction()
        if event.json["track"]?.string == "receipt" { return try receipt(of: transaction, event) }
        if let app = try event.appTransaction() { return Body.appTransactionInfo(try sign(app)) }
        let renewal = try event.renewalInfo()
        let signedTransaction = try transaction.map { try sign($0) }
        let signedRenewal = try renewal.map { try sign($0, isRenewal: true) }
        if let notification = event.json["notification"] {
            var data = NotificationDataFields()
            data.environment = event.environment
            data.bundleID = app.bundleID
            data.appAppleID = app.appAppleID
            data.signedTransactionInfo = signedTransaction.map { DemoScript.text($0) }
            data.signedRenewalInfo = signedRenewal.map { DemoScript.text($0) }
            var fields = NotificationFields()
            fields.notificationType = notification["type"]?.string
            fields.subtype = notification["subtype"]?.string
            fields.notificationUUID = notificationUUID
            fields.signedDate = event.signedDate.milliseconds
            fields.data = data.json
            return Body.notification(try signers.jws.sign(fields.json))
        }
        if let signedTransaction, let signedRenewal {
            return Body.subscriptionStatuses(
                environment: event.environment, bundleID: app.bundleID,
                originalTransactionID: text("originalTransactionId", of: transaction) ?? "",
                transaction: signedTransaction, renewal: signedRenewal)
        }
        if let signedRenewal { return Body.renewalInfo(signedRenewal) }
        guard let signedTransaction else { throw ScenarioError("event \(event.offset) has no payload") }
        return Body.transaction(signedTransaction)
    }

    /// A receipt of one record, created when the event was signed.
    private func receipt(of transaction: JSONValue?, _ event: ScenarioEvent) throws -> [UInt8] {
        var record = ReceiptRecordFields()
        record.transactionID = text("transactionId", of: transaction)
        record.originalTransactionID = text("originalTransactionId", of: transaction)
        record.productID = text("productId", of: transaction)
        record.quantity = transaction?["quantity"]?.int64.map { Int($0) }
        record.purchaseDate = transaction?["purchaseDate"]?.int64
        record.originalPurchaseDate = record.purchaseDate
        record.expiresDate = transaction?["expiresDate"]?.int64
        record.cancellationDate = transaction?["revocationDate"]?.int64
        let isSubscription = transaction?["type"]?.isString("Auto-Renewable Subscription")
        record.productType = isSubscription == true ? 3 : nil
        let app = DemoApp(bundleID: app.bundleID, environment: event.environment, appAppleID: app.appAppleID)
        var receipt = ReceiptFields(of: app)
        receipt.creationDate = event.signedDate.milliseconds
        receipt.records = [record]
        return Body.receipt(try signers.receipts.receiptText(receipt))
    }

    private func text(_ name: StaticString, of payload: JSONValue?) -> String? {
        payload?[name]?.string.map { renaming("\(name)", $0) ?? $0 }
    }

    private func sign(_ payload: JSONValue, isRenewal: Bool = false) throws -> [UInt8] {
        try signers.jws.sign(Self.payload(payload, isRenewal: isRenewal, renaming: renaming))
    }

    /// A payload with other texts.
    ///
    /// A renewal info differs from other payloads by its status, so Apple never leaves it out.
    package static func payload(
        _ payload: JSONValue, isRenewal: Bool = false, renaming: (_ member: String, _ text: String) -> String?
    ) -> [UInt8] {
        let object = object(payload, renaming)
        let lacksStatus = isRenewal && payload["autoRenewStatus"] == nil
        return (lacksStatus ? object + ["autoRenewStatus": 1] : object).bytes
    }

    private static func object(_ value: JSONValue, _ renaming: (String, String) -> String?) -> JSONContent {
        .object(
            value.members.map { key, member in
                let name = key.string ?? ""
                return (name, content(member, of: name, renaming))
            })
    }

    private static func content(_ value: JSONValue, of name: String, _ renaming: (String, String) -> String?)
        -> JSONContent
    {
        if let renamed = value.string.flatMap({ renaming(name, $0) }) { return .string(renamed) }
        switch value.kind {
        case .object: return object(value, renaming)
        case .array: return .array(value.elements.map { content($0, of: name, renaming) })
        case .string, .number, .bool, .null: return .raw(Array(value.rawBytes))
        }
    }
}
