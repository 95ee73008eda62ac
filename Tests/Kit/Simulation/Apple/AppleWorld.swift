import JSON
import Synchronization

/// Everything that the simulated Apple has signed: notifications, transactions and renewal infos.
///
/// The order ID of a transaction is its transaction ID after an `M`.
package final class AppleWorld: Sendable {
    /// A transaction in its newest revision, and the number of the change that brought it.
    struct Transaction: Sendable {
        let id: String
        let originalID: String
        let bundleID: String
        let environment: String
        let signedDate: Int64
        let isRevoked: Bool
        let change: Int
        let jws: [UInt8]
    }

    struct Renewal: Sendable {
        let signedDate: Int64
        let status: Int64
        let jws: [UInt8]
    }

    struct State: Sendable {
        var given: [AppleNotification] = []
        var generated: [GeneratedNotifications] = []
        /// Recorded attempts by UUID; any other notification has the attempts that follow from its
        /// fields.
        var attempts: [String: [SendAttempt]] = [:]
        var uuids: Set<String> = []
        /// The transactions of each original transaction ID, the last changed one last.
        var purchases: [String: [Transaction]] = [:]
        /// The original transaction ID of each transaction.
        var originals: [String: String] = [:]
        var renewals: [String: Renewal] = [:]
        var changes = 0
        var finished: [String] = []
        var accountTokens: [SetAccountToken] = []
        var refundAnswers: [(id: String, body: String)] = []
        /// The requests for refunds, by transaction ID.
        var refundRequests: [String: RefundRequest] = [:]
        var refundDecisions: [String: RefundDecision] = [:]
        var sendDecision: @Sendable ([UInt8]) -> Void = { _ in }
    }

    package let authority: CertificateAuthority
    let script: DemoScript
    let state = Mutex(State())

    package init(authority: CertificateAuthority) {
        self.authority = authority
        let signers = DemoSigners(jws: authority, receipts: authority)
        script = DemoScript(seed: 1, now: 0, signers: signers)
    }

    /// Adds a signed notification with the transaction in it, a transaction, or a renewal info.
    ///
    /// A notification that is there already, and an older revision, change nothing.
    ///
    /// - Parameter attempts: of a notification; nil for one that was delivered at once. Without
    ///   any, it is listed from its first attempt on.
    package func add(_ jws: [UInt8], attempts: [SendAttempt]? = nil) {
        guard let payload = UnverifiedJWS(jws)?.payload else { return }
        state.withLock { $0.add(jws, payload, attempts) }
    }

    /// Adds everything that Apple has signed of the demo's traffic.
    package func add(_ traffic: DemoTraffic) { for jws in traffic.signedByApple { add(jws) } }

    /// Adds notifications of as many new purchases, which are signed when they are listed.
    ///
    /// - Parameters:
    ///   - dates: the signed dates of the first and last, in milliseconds since 1970.
    ///   - failingPercent: how many of a hundred have never been delivered.
    package func generateNotifications(
        count: Int, dates: ClosedRange<Int64>, of app: DemoApp = .pro, failingPercent: Int = 0, seed: UInt64 = 1
    ) {
        let milliseconds = dates.upperBound - dates.lowerBound
        precondition((1...milliseconds).contains(Int64(count)), "each has a millisecond of its own")
        let generated = GeneratedNotifications(
            count: count, dates: dates, app: app, seed: seed, failingPercent: failingPercent, script: script)
        state.withLock { $0.generated.append(generated) }
    }

    package func record(_ attempt: SendAttempt, ofNotification uuid: String) {
        state.withLock { $0.attempts[uuid, default: []].append(attempt) }
    }

    package func attempts(ofNotification uuid: String) -> [SendAttempt] { state.withLock { $0.attempts[uuid] ?? [] } }

    /// The transaction IDs that were finished, in their order, each as often as it was.
    package var finished: [String] { state.withLock(\.finished) }
}

extension DemoTraffic {
    /// The genuine notifications, transactions and renewal infos, each JWS by its signed date.
    ///
    /// A JWS occurs as often as a body has it; receipts are left out.
    package var signedByApple: [[UInt8]] {
        let values = items.filter { $0.expectedRefusal == nil }.compactMap(\.value)
        let dated = values.flatMap(Self.strings).compactMap { text in
            UnverifiedJWS(text).map { (text, $0.payload["signedDate"]?.int64 ?? 0) }
        }
        return dated.sorted { $0.1 < $1.1 }.map(\.0)
    }

    /// The strings of a JSON body; any other body itself.
    private static func strings(_ body: [UInt8]) -> [[UInt8]] {
        (try? JSONDocument(parsing: body).root).map(strings) ?? [body]
    }

    private static func strings(_ value: JSONValue) -> [[UInt8]] {
        if let text = value.stringBytes { return [text] }
        return value.members.flatMap { strings($0.value) } + value.elements.flatMap(strings)
    }
}

extension AppleWorld.State {
    /// The kind of a payload is told by a member that it alone has.
    mutating func add(_ jws: [UInt8], _ payload: JSONValue, _ attempts: [SendAttempt]?) {
        if payload["notificationType"] != nil {
            add(notification: jws, payload, attempts)
        } else if payload["transactionId"] != nil {
            add(transaction: jws, payload)
        } else if payload["autoRenewStatus"] != nil {
            add(renewal: jws, payload, status: 1)
        }
    }

    private mutating func add(notification jws: [UInt8], _ payload: JSONValue, _ attempts: [SendAttempt]?) {
        let made = AppleNotification(jws: jws, payload: payload)
        guard let made, uuids.insert(made.uuid).inserted else { return }
        given.append(made)
        self.attempts[made.uuid] = attempts
        let data = payload["data"]
        if let transaction = data?["signedTransactionInfo"]?.stringBytes,
            let transactionPayload = UnverifiedJWS(transaction)?.payload
        {
            add(transaction: transaction, transactionPayload)
            if payload["notificationType"]?.isString("CONSUMPTION_REQUEST") == true,
                let id = transactionPayload["transactionId"]?.string
            {
                refundRequests[id] = RefundRequest(transactionID: id, askedAt: made.signedDate)
            }
        }
        if let renewal = data?["signedRenewalInfo"]?.stringBytes, let renewalPayload = UnverifiedJWS(renewal)?.payload {
            add(renewal: renewal, renewalPayload, status: data?["status"]?.int64 ?? 1)
        }
    }

    private mutating func add(transaction jws: [UInt8], _ payload: JSONValue) {
        guard let id = payload["transactionId"]?.string, let originalID = payload["originalTransactionId"]?.string,
            let signedDate = payload["signedDate"]?.int64
        else { return }
        var transactions = purchases[originalID] ?? []
        if let index = transactions.firstIndex(where: { $0.id == id }) {
            guard transactions[index].signedDate < signedDate else { return }
            transactions.remove(at: index)
        }
        changes += 1
        transactions.append(
            AppleWorld.Transaction(
                id: id, originalID: originalID, bundleID: payload["bundleId"]?.string ?? "",
                environment: payload["environment"]?.string ?? "", signedDate: signedDate,
                isRevoked: payload["revocationDate"] != nil, change: changes, jws: jws))
        purchases[originalID] = transactions
        originals[id] = originalID
    }

    private mutating func add(renewal jws: [UInt8], _ payload: JSONValue, status: Int64) {
        guard let originalID = payload["originalTransactionId"]?.string, let signedDate = payload["signedDate"]?.int64,
            renewals[originalID].map({ $0.signedDate < signedDate }) ?? true
        else { return }
        renewals[originalID] = AppleWorld.Renewal(signedDate: signedDate, status: status, jws: jws)
    }
}
