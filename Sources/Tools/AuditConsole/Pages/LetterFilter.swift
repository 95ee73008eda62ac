import AppStore
import DeadLetters
import HTTP
import Commands
import Settings
import Store

/// The filters of the search page: the arguments of the page, and the database query that they stand for.
struct LetterFilter: Sendable, Equatable {
    /// An identifier of any kind, which replaces all other filters.
    var text: String?
    var query = DeadLetterQuery()
    /// Explanations of the invalid arguments, for the user.
    var problems: [String] = []
    /// The arguments as received, for links and fields.
    private(set) var items: [HTTPItem] = []

    static let names = ["q", "id"] + FilterOptions.options.map(\.long)

    /// - Parameter now: the time from which a relative time such as `2d` counts back.
    init(_ items: [HTTPItem], now: Timestamp) {
        for item in items where Self.names.contains(item.name) && !item.value.isEmpty {
            guard self.items.count < 200 else { break }
            self.items.append(item)
            guard item.name != "q" else {
                text = item.value
                continue
            }
            do throws(UsageError) { try FilterOptions.narrow(&query, by: item.name, item.value, now: now) } catch {
                problems.append(error.description)
            }
        }
    }

    /// The items with absolute times: a relative time would select other letters later.
    var fixedItems: [HTTPItem] {
        let instants = ["since": query.since, "until": query.until]
        return items.map { item in
            guard let instant = instants[item.name].flatMap(\.self) else { return item }
            return HTTPItem(item.name, instant.description)
        }
    }

    var link: LocalLink { LocalLink("search", query: items) }
}

extension DeadLetterTable.Cursor {
    /// The cursor as an argument of a link.
    var text: String { "\(failedAt.milliseconds)_\(id)" }

    init?(parsing text: String) {
        let parts = text.split(separator: "_", maxSplits: 1)
        guard parts.count == 2, let failedAt = Int64(parts[0]).flatMap(Timestamp.init(boundedMilliseconds:)) else {
            return nil
        }
        self.init(failedAt: failedAt, id: String(parts[1]))
    }
}
