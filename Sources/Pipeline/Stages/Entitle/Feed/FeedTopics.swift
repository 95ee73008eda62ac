/// The topics of the change feed, and what their records contain.
package struct FeedTopics: Sendable {
    /// The topic of every change.
    package let changed: String
    /// The compacted topic of each user's newest state.
    package let current: String
    /// See `EntitleSettings.currentSubscriptions`.
    package var listsSubscriptions = false
}
