import AppStore
import Entitlements
import JSON
import OpenSSL
import Records
import Simulation

extension ScenarioEvent {
    /// The observation that `verify-worker` makes of it.
    func observation() throws -> Observation {
        let transaction = try transaction()
        let renewalInfo = try renewalInfo()
        let app = try appTransaction()
        return try Observation(
            SignedPayloads(transaction: transaction, renewalInfo: renewalInfo, appTransaction: app),
            source: ObservationSource(
                RecordPosition(topic: "raw", partition: 0, offset: offset),
                timestamp: json["posted"]?.string.flatMap { Timestamp(iso8601: $0) }),
            environment: Environment(rawValue: environment), bundleID: (transaction ?? app)?["bundleId"]?.identifier,
            verification: verification(), notification: notification(), ingestUserID: json["userID"]?.identifier)
    }

    private func notification() -> ObservedNotification? {
        json["notification"].map { notification in
            ObservedNotification(
                type: notification["type"]?.string ?? "", subtype: notification["subtype"]?.string,
                uuid: notification["uuid"]?.string ?? "notification-\(offset)", signedDate: signedDate)
        }
    }

    private func verification() throws -> VerificationFacts {
        let root = SHA256.digest(Array("root".utf8))
        let isForeign = json["trust"]?.string == "test"
        let isReceipt = json["track"]?.string == "receipt"
        return VerificationFacts(
            signedDate: signedDate, leaf: SHA256.digest(Array("leaf".utf8)), root: root,
            trust: isForeign ? .configured(root) : .apple, method: isReceipt ? .receipt : .jws, verifier: "scenario")
    }
}
