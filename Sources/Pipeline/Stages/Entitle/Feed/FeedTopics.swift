package struct FeedTopics: Sendable {
    /// Every change.
    package let changed: String
    /// The newest state of each user, compacted.
    package let current: String
}
