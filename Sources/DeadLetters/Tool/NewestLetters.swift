import Records
/// The newest of many dead letters; holds at most twice as many as are wanted.
struct NewestLetters {
    private let limit: Int
    private var letters: [String: DeadLetter] = [:]

    /// How many were inserted and not removed, kept or not.
    private(set) var count = 0

    init(limit: Int) {
        self.limit = limit
    }

    mutating func insert(_ letter: DeadLetter) {
        count += 1
        letters[letter.id] = letter
        if letters.count >= 2 * limit + 16 {
            letters = Dictionary(
                sorted.map { ($0.id, $0) },
                uniquingKeysWith: { _, last in last }
            )
        }
    }

    mutating func remove(_ id: String) {
        count -= 1
        letters[id] = nil
    }

    /// The newest, newest first.
    var sorted: [DeadLetter] {
        let ordered = letters.values.sorted {
            $0.failedAt == $1.failedAt ? $0.id < $1.id : $0.failedAt > $1.failedAt
        }
        return Array(ordered.prefix(limit))
    }
}
