/// The pages of a list read so far, identified by the cursors of Apple's server.
///
/// It detects a repeated cursor, and a list without an end.
struct PageTrail {
    /// Maximum amounts to read before other work gets its turn.
    struct Bounds {
        var pagesMax = 10_000
        var timeMax = Duration.seconds(3_600)
    }

    enum Next {
        case readable
        /// The cursor was followed before.
        case repeated
        case tooLong
    }

    private let bounds: Bounds
    private let begin = ContinuousClock.now
    private var cursors: Set<String>

    /// - Parameter cursor: the cursor of the first page to read; `nil` for the first page of the list.
    init(_ bounds: Bounds, from cursor: String?) {
        self.bounds = bounds
        cursors = cursor.map { [$0] } ?? []
    }

    /// Decides whether to read the page of this cursor next.
    mutating func follow(_ cursor: String) -> Next {
        guard cursors.insert(cursor).inserted else { return .repeated }
        let isLong = cursors.count >= bounds.pagesMax || ContinuousClock.now - begin >= bounds.timeMax
        return isLong ? .tooLong : .readable
    }
}
