import JSON

/// A notification of the simulated history, whose JWS may be signed only when it is listed.
struct AppleNotification: Sendable {
    let uuid: String
    let bundleID: String
    let environment: String
    let signedDate: Int64
    /// The result of every attempt of which the world has no record.
    ///
    /// `nil` for a delivered one.
    let failure: SendAttempt.Result?
    /// Signs the JWS, with the same payload each time.
    let jws: @Sendable () throws -> [UInt8]
}

extension AppleNotification {
    /// Reads a notification from its payload.
    ///
    /// `nil` if the payload is not a notification's.
    init?(jws: [UInt8], payload: JSONValue) {
        let parts = ["data", "summary", "appData", "externalPurchaseToken"]
        let about = parts.lazy.compactMap { payload[$0] }.first
        // An external purchase tells its environment by its ID alone.
        let isSandbox = about?["externalPurchaseId"]?.string?.hasPrefix("SANDBOX") ?? false
        guard payload["notificationType"] != nil, let uuid = payload["notificationUUID"]?.string,
            let signedDate = payload["signedDate"]?.int64
        else { return nil }
        self.init(
            uuid: uuid, bundleID: about?["bundleId"]?.string ?? "",
            environment: about?["environment"]?.string ?? (isSandbox ? "Sandbox" : "Production"),
            signedDate: signedDate, failure: nil, jws: { jws })
    }

    func attempts(until now: Int64) -> [SendAttempt] {
        guard let failure else { return [SendAttempt(date: signedDate, result: .success)] }
        return SendAttempt.failing(failure, from: signedDate, until: now)
    }
}

/// Notifications of as many new purchases, at even distances in time, each made when asked for.
struct GeneratedNotifications: Sendable {
    let count: Int
    let dates: ClosedRange<Int64>
    let app: DemoApp
    let seed: UInt64
    let failingPercent: Int
    let script: DemoScript

    /// Milliseconds from each to the next.
    private var step: Int64 { (dates.upperBound - dates.lowerBound) / Int64(count) }

    /// A range that holds all indices in a window, and one more at each end.
    func indices(in window: ClosedRange<Int64>) -> Range<Int> {
        let first = (window.lowerBound - dates.lowerBound) / step - 1
        let last = (window.upperBound - dates.lowerBound) / step + 2
        let lower = min(max(first, 0), Int64(count))
        return Int(lower)..<Int(min(max(last, lower), Int64(count)))
    }

    subscript(index: Int) -> AppleNotification {
        let number = seed &+ UInt64(index)
        let mixed = Self.identifier(number)
        let date = dates.lowerBound + step * Int64(index)
        let transactionID = String(4_000_000_000_000_000 + Int64(seed % 100_000) * 10_000_000_000 + Int64(index))
        let failures: [SendAttempt.Result] = [.timedOut, .tlsIssue, .unsuccessfulHTTPResponseCode, .socketIssue]
        let isFailing = mixed.hash % 100 < UInt64(failingPercent)
        return AppleNotification(
            uuid: mixed.uuid, bundleID: app.bundleID, environment: app.environment, signedDate: date,
            failure: isFailing ? failures[Int(mixed.hash / 100 % 4)] : nil
        ) { [script, app] in
            var script = script
            script.generator = SeededGenerator(seed: number)
            var purchase = DemoPurchase(
                .monthly, id: transactionID, app: app, token: Self.identifier(~number).uuid, purchaseDate: date - 1_000)
            purchase.cover(until: date + 30 * DemoScript.day)
            return try script.signedNotification("SUBSCRIBED", "INITIAL_BUY", of: purchase)
        }
    }

    private static func identifier(_ number: UInt64) -> (uuid: String, hash: UInt64) {
        var generator = SeededGenerator(seed: number)
        return (generator.uuid(), generator.next())
    }
}
