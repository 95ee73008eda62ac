/// The pages that were read one after the other, by a cursor that Apple's server gives.
///
/// It notices a cursor that comes again, and a list that has no end.
struct PageTrail {
    /// The bounds of what is read before other work gets a turn.
    struct Bounds {
        var pagesMax = 10_000
        var timeMax = Duration.seconds(3_600)
    }

    enum Next {
        case readable
        /// The cursor has been followed before.
        case repeated
        case tooLong
    }

    private let bounds: Bounds
    private let begin = ContinuousClock.now
    private var cursors: Set<String>

    /// - Parameter cursor: of the first page that is read; nil for a list's first one.
    init(_ bounds: Bounds, from cursor: String?) {
        self.bounds = bounds
        cursors = cursor.map { [$0] } ?? []
    }

    /// Decides whether the page of this cursor is read next.
    mutating func follow(_ cursor: String) -> Next {
        guard cursors.insert(cursor).inserted else { return .repeated }
        let isLong = cursors.count >= bounds.pagesMax || ContinuousClock.now - begin >= bounds.timeMax
        return isLong ? .tooLong : .readable
    }
}
