import AppStore
import HTTP
import Records
import Store

/// The filters of the search page: a query string and its meaning to the store.
struct LetterFilter: Sendable, Equatable {
    /// An identifier of any kind; it replaces all other filters.
    var text: String?
    var query = DeadLetterQuery()
    /// The arguments that are invalid, explained for people.
    var problems: [String] = []
    /// The arguments as received, for links and fields.
    private(set) var items: [HTTPItem] = []

    static let names = [
        "q", "reason", "class", "state", "stage", "bundle", "environment", "product", "transaction", "certificate",
        "worker", "source", "group", "id", "since", "until",
    ]

    /// - Parameter now: the time that `2d` counts from.
    init(_ items: [HTTPItem], now: Timestamp) {
        for item in items where Self.names.contains(item.name) && !item.value.isEmpty {
            guard self.items.count < 200 else { break }
            self.items.append(item)
            add(item.name, item.value, now)
        }
    }

    func value(_ name: String) -> String? { items.last { $0.name == name }?.value }

    /// The items with instants instead of relative times, which select other letters later.
    var fixedItems: [HTTPItem] {
        let instants = ["since": query.since, "until": query.until]
        return items.map { item in
            guard let instant = instants[item.name].flatMap(\.self) else { return item }
            return HTTPItem(item.name, instant.description)
        }
    }

    var link: LocalLink { LocalLink("search", query: items) }

    /// The filter in words, as a history shows it.
    var words: String { items.isEmpty ? "all" : items.map { "\($0.name) \($0.value)" }.joined(separator: ", ") }

    private mutating func add(_ name: String, _ value: String, _ now: Timestamp) {
        switch name {
        case "q": text = value
        case "reason": query.reasons.insert(value)
        case "class": query.classes.insert(value)
        case "stage": query.stages.insert(value)
        case "bundle": query.bundleID = value
        case "environment": query.environment = value
        case "product": query.productID = value
        case "transaction": query.transactionID = value
        case "certificate": query.certificate = value
        case "worker": query.worker = value
        case "group": query.group = value
        case "id": query.ids.insert(value)
        case "since": query.since = instant(value, name, now)
        case "until": query.until = instant(value, name, now)
        case "state":
            if let state = DeadLetterState(rawValue: value) {
                query.states.insert(state)
            } else {
                problems.append("There is no state of that name.")
            }
        case "source":
            query.source = RecordPosition(value)
            if query.source == nil { problems.append("A source is written as TOPIC/PARTITION/OFFSET.") }
        default: break
        }
    }

    private mutating func instant(_ text: String, _ name: String, _ now: Timestamp) -> Timestamp? {
        let instant = Timestamp(filter: text, now: now)
        if instant == nil { problems.append(Timestamp.filterProblem(name)) }
        return instant
    }
}

extension Timestamp {
    /// A bound of a filter: a date, a time, or a time ago such as `36h`.
    init?(filter text: String, now: Timestamp) {
        if let instant = Timestamp(iso8601: text) {
            self = instant
            return
        }
        let units: [Character: Int64] = ["m": 60_000, "h": 3_600_000, "d": 86_400_000]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()),
            (0...100_000).contains(count)
        else { return nil }
        self.init(milliseconds: now.milliseconds - count * unit)
    }

    static func filterProblem(_ name: String) -> String {
        "The time \"\(name)\" is written as 2026-01-31, 2026-01-31T12:00:00Z, or as a time ago: 90m, 36h, 7d."
    }
}

extension DeadLetterTable.Cursor {
    /// The form in a link.
    var text: String { "\(failedAt.milliseconds)_\(id)" }

    init?(parsing text: String) {
        let parts = text.split(separator: "_", maxSplits: 1)
        guard parts.count == 2, let failedAt = Int64(parts[0]).flatMap(Timestamp.init(boundedMilliseconds:)) else {
            return nil
        }
        self.init(failedAt: failedAt, id: String(parts[1]))
    }
}
