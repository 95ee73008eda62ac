/// One setting of a topic as its broker holds it.
package struct TopicSetting: Sendable, Equatable {
    package let value: String
    /// Set on this topic itself, not a default of the broker's.
    package let isSetOnTopic: Bool

    package init(value: String, isSetOnTopic: Bool) {
        self.value = value
        self.isSetOnTopic = isSetOnTopic
    }
}
