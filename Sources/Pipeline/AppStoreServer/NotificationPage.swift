package import AppStore
package import JSON

/// A page of the notification history.
package struct NotificationPage: Sendable {
    package let notifications: [ListedNotification]
    /// Number of omitted entries, which have no signed payload.
    package let unreadableCount: Int
    /// The token of the next page.
    ///
    /// `nil` on the last page.
    package let nextPage: String?
}

/// A notification that Apple has sent or tried to send.
package struct ListedNotification: Sendable {
    package struct SendAttempt: Hashable, Sendable {
        /// Apple's name of the result, such as `SUCCESS` or `TIMED_OUT`.
        ///
        /// `nil` if Apple names none.
        package let result: Identifier?
    }

    /// The received compact JWS, not verified.
    package let signedPayload: [UInt8]
    /// The payload's UUID; the next two properties are also read from the payload.
    ///
    /// Each is `nil` if it is absent or not a valid `Identifier`.
    package let uuid: Identifier?
    package let type: Identifier?
    package let signedAt: Timestamp?
    package let sendAttempts: [SendAttempt]
}

extension NotificationPage {
    /// Parses a response's body.
    package init(_ root: JSONValue) throws(MalformedPage) {
        let list = root["notificationHistory"]
        guard list?.kind ?? .array == .array else { throw MalformedPage("notificationHistory") }
        let entries = list?.elements.map(ListedNotification.init) ?? []
        notifications = entries.compactMap(\.self)
        unreadableCount = entries.count - notifications.count
        guard let hasMore = root["hasMore"]?.bool else { throw MalformedPage("hasMore") }
        nextPage = hasMore ? root["paginationToken"]?.string : nil
        if hasMore, nextPage?.isEmpty ?? true { throw MalformedPage("paginationToken") }
    }
}

extension ListedNotification {
    fileprivate init?(_ entry: JSONValue) {
        guard let token = entry["signedPayload"]?.stringBytes, !token.isEmpty else { return nil }
        let payload = NotificationPayload(unverified: token)
        signedPayload = token
        uuid = payload?.uuid?.entered
        type = payload?.type?.entered
        signedAt = payload?.signedDate
        sendAttempts = entry["sendAttempts"]?.elements.map(SendAttempt.init) ?? []
    }
}

extension ListedNotification.SendAttempt {
    fileprivate init(_ attempt: JSONValue) {
        result = attempt["sendAttemptResult"]?.string.flatMap { Identifier(entering: $0) }
    }
}

extension PayloadText {
    /// The string as an identifier.
    ///
    /// `nil` if it may not be shown, stored and compared.
    fileprivate var entered: Identifier? { Identifier(entering: string) }
}

/// An error for a member of a response whose type differs from Apple's documentation.
package struct MalformedPage: Error {
    let member: StaticString

    init(_ member: StaticString) { self.member = member }
}
