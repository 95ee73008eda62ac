import JSON
import Synchronization

/// A customer's request for a refund, as Apple handles it.
struct RefundRequest: Sendable {
    let transactionID: String
    /// The request's signed date, in milliseconds since 1970.
    var askedAt: Int64
    var isDecided = false

    /// Apple waits for 12 hours ("CONSUMPTION_REQUEST").
    static let milliseconds: Int64 = 12 * 3_600_000
}

/// Apple's decision about a refund.
package enum RefundDecision: Hashable, Sendable {
    case declined
    /// A refund of this percentage, in milliunits.
    case refunded(Int64)
}

extension AppleWorld {
    /// The accepted answers to refund requests in their order, by transaction ID, each as often as it came.
    package var refundAnswers: [(id: String, body: String)] { state.withLock(\.refundAnswers) }

    /// The decisions by transaction ID; a request that Apple leaves undecided has none.
    package var refundDecisions: [String: RefundDecision] { state.withLock(\.refundDecisions) }

    /// Passes every decision's notification to the function, as Apple sends it to the notification URL.
    package func sendDecisions(to send: @escaping @Sendable (_ jws: [UInt8]) -> Void) {
        state.withLock { $0.sendDecision = send }
    }

    /// Signs and lists the `CONSUMPTION_REQUEST` about a transaction.
    ///
    /// - Parameters:
    ///   - time: in milliseconds since 1970.
    ///   - reason: the "consumptionRequestReason".
    package func askRefund(of id: String, at time: Int64, reason: String? = nil) throws -> [UInt8] {
        guard let transaction = transaction(id) else { throw AppleError.transactionNotFound }
        return try notify(
            "CONSUMPTION_REQUEST", transaction, uuid: "refund-\(id)", transaction.jws, at: time, reason: reason)
    }

    /// Moves all undecided requests back in time, as if so many milliseconds had passed.
    package func passTime(_ milliseconds: Int64) {
        state.withLock { state in
            for (id, request) in state.refundRequests where !request.isDecided {
                state.refundRequests[id]?.askedAt -= milliseconds
            }
        }
    }

    private func transaction(_ id: String) -> Transaction? {
        state.withLock { state in state.originals[id].flatMap { state.purchases[$0] }?.first { $0.id == id } }
    }

    private func notify(
        _ type: String, _ transaction: Transaction, uuid: String, _ signed: [UInt8], at time: Int64,
        reason: String? = nil
    ) throws -> [UInt8] {
        var data = NotificationDataFields()
        data.bundleID = transaction.bundleID
        data.environment = transaction.environment
        data.appAppleID = DemoApp.pro.appAppleID
        data.signedTransactionInfo = String(decoding: signed, as: UTF8.self)
        data.consumptionRequestReason = reason
        var fields = NotificationFields()
        fields.notificationType = type
        fields.notificationUUID = uuid
        fields.signedDate = time
        fields.data = data.json
        let jws = try authority.sign(fields.json)
        add(jws)
        return jws
    }

    /// Throws if Apple no longer waits for an answer.
    func requireInTime(_ id: String, at now: Int64) throws(AppleError) {
        guard let request = state.withLock({ $0.refundRequests[id] }) else { return }
        guard now < request.askedAt + RefundRequest.milliseconds else { throw .lateAnswer }
    }

    /// Takes an answer that was checked, and decides its request once.
    func take(refundAnswer body: [UInt8], of id: String, at now: Int64) throws {
        let request = state.withLock { state -> RefundRequest? in
            state.refundAnswers.append((id, String(decoding: body, as: UTF8.self)))
            guard let request = state.refundRequests[id], !request.isDecided else { return nil }
            state.refundRequests[id]?.isDecided = true
            return request
        }
        guard request != nil, let transaction = transaction(id), let answer = try? JSONDocument(parsing: body).root,
            let decision = Self.decision(answer)
        else { return }
        let jws: [UInt8]
        switch decision {
        case .declined:
            jws = try notify("REFUND_DECLINED", transaction, uuid: "declined-\(id)", transaction.jws, at: now)
        case .refunded(let percentage):
            let revoked = try revoke(transaction, percentage: percentage, at: now)
            jws = try notify("REFUND", transaction, uuid: "refunded-\(id)", revoked, at: now)
        }
        let send = state.withLock { state in
            state.refundDecisions[id] = decision
            return state.sendDecision
        }
        send(jws)
    }

    /// The decision: what is preferred; without a preference a refund of what was not delivered or not consumed.
    ///
    /// `nil` for any other, which Apple leaves undecided.
    private static func decision(_ answer: JSONValue) -> RefundDecision? {
        let status = answer["deliveryStatus"]
        let consumed = answer["consumptionPercentage"]?.int64
        let isUnused = consumed == 0 || answer["consumptionStatus"]?.int64 == 1
        let preference = answer["refundPreference"]
        switch preference?.string ?? preference?.int64.map({ "\($0)" }) ?? "" {
        case "DECLINE", "2": return .declined
        case "GRANT_PRORATED": return .refunded(100_000 - (consumed ?? 0))
        case "GRANT_FULL", "1": return .refunded(100_000)
        default:
            let isDelivered = status?.string == "DELIVERED" || status?.int64 == 0
            return !isDelivered || isUnused ? .refunded(100_000) : nil
        }
    }

    /// Signs a transaction again, as refunded.
    private func revoke(_ transaction: Transaction, percentage: Int64, at now: Int64) throws -> [UInt8] {
        guard let payload = UnverifiedJWS(transaction.jws)?.payload else { throw AppleError.general }
        let kept = payload.members.filter { key, _ in !key.isString("signedDate") }
        let isWhole = percentage == 100_000
        let revocation: JSONContent = [
            "signedDate": max(now, transaction.signedDate + 1), "revocationDate": now, "revocationReason": 0,
            "revocationType": isWhole ? "REFUND_FULL" : "REFUND_PRORATED", "revocationPercentage": percentage,
        ]
        let members = kept.map { ($0.string ?? "", JSONContent($1)) }
        return try authority.sign((.object(members) + revocation).bytes)
    }
}
