import AppStore
import JSON
import Synchronization

/// The body of a request for the notification history.
struct NotificationQuery: Equatable {
    let startDate: Int64
    let endDate: Int64
    let onlyFailures: Bool

    /// - Parameter now: in milliseconds since 1970.
    init(_ body: [UInt8], environment: String, now: Int64) throws(AppleError) {
        guard let root = try? JSONDocument(parsing: body).root, root.kind == .object else { throw .badRequest }
        guard let start = root["startDate"]?.int64, start > 0 else { throw .invalidStartDate }
        guard let given = root["endDate"]?.int64, given > 0 else { throw .invalidEndDate }
        let end = min(given, now)
        guard start < end else { throw .startAfterEnd }
        let daysMax: Int64 = environment == "Production" ? 180 : 30
        guard start >= now - daysMax * DemoScript.day else { throw .startTooFarInPast }
        startDate = start
        endDate = end
        onlyFailures = root["onlyFailures"]?.bool ?? false
    }
}

/// A place in the history: in a list of the world's, before an index of it.
struct NotificationPosition: Equatable {
    var list = 0
    var index = 0
}

/// The token for the next page: a position, the query that it belongs to, and when it was issued.
struct PaginationToken {
    let position: NotificationPosition
    let query: String
    let issued: Int64

    init(_ position: NotificationPosition, of query: NotificationQuery, issued: Int64) {
        self.position = position
        self.query = "\(query)"
        self.issued = issued
    }

    /// Reads a token.
    ///
    /// `nil` if the text is not a token of this server.
    init?(text: String) {
        let bytes = Array(text.utf8)
        guard let decoded = Base64.url.decode(bytes.span) else { return nil }
        let parts = String(decoding: decoded, as: UTF8.self).split(
            separator: "|", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let list = Int(parts[0]), let index = Int(parts[1]), let issued = Int64(parts[2]),
            list >= 0, index >= 0
        else { return nil }
        position = NotificationPosition(list: list, index: index)
        query = String(parts[3])
        self.issued = issued
    }

    var text: String {
        let plain = "\(position.list)|\(position.index)|\(issued)|\(query)"
        return String(decoding: Base64Text.url(Array(plain.utf8)), as: UTF8.self)
    }
}

extension AppleWorld {
    /// A notification as the history lists it.
    struct Listed {
        let notification: AppleNotification
        let attempts: [SendAttempt]
    }

    static let pageItemsMax = 20

    /// Notifications looked at for one page, which may end empty before the next one begins.
    static let pageScanMax = 5_000

    /// A page, and the position of the next one.
    ///
    /// The position is `nil` after the last page.
    func page(
        of query: NotificationQuery, from start: NotificationPosition, bundleID: String, environment: String, now: Int64
    ) -> (items: [Listed], next: NotificationPosition?) {
        let state = state.withLock { $0 }
        var items: [Listed] = []
        var seen = 0
        var position = start
        while position.list <= state.generated.count {
            let range = state.indices(of: position.list, query)
            position.index = max(position.index, range.lowerBound)
            while position.index < range.upperBound {
                guard seen < Self.pageScanMax else { return (items, position) }
                seen += 1
                let notification = state.notification(at: position)
                let attempts = state.attempts[notification.uuid] ?? notification.attempts(until: now)
                let isListed =
                    (query.startDate...query.endDate).contains(notification.signedDate)
                    && notification.bundleID == bundleID && notification.environment == environment && !attempts.isEmpty
                    && !(query.onlyFailures && attempts.contains { $0.result == .success })
                if isListed {
                    guard items.count < Self.pageItemsMax else { return (items, position) }
                    items.append(Listed(notification: notification, attempts: attempts))
                }
                position.index += 1
            }
            position = NotificationPosition(list: position.list + 1)
        }
        return (items, nil)
    }
}

extension AppleWorld.State {
    /// The given notifications are the first list, each generated series is one more.
    fileprivate func indices(of list: Int, _ query: NotificationQuery) -> Range<Int> {
        list == 0 ? given.indices : generated[list - 1].indices(in: query.startDate...query.endDate)
    }

    fileprivate func notification(at position: NotificationPosition) -> AppleNotification {
        position.list == 0 ? given[position.index] : generated[position.list - 1][position.index]
    }
}
