package struct FeedTopics: Sendable {
    /// Every change.
    package let changed: String
    /// The newest state of each user, compacted.
    package let current: String

    package init(changed: String, current: String) {
        self.changed = changed
        self.current = current
    }
}
