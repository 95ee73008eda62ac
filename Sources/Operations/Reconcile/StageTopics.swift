import Worker

/// Which topic each stage reads and which it writes to.
enum StageTopics {
    /// Without the prefix.
    static func input(of stage: StageName) -> String {
        switch stage {
        case .verify: TopicLayout.raw
        case .dedupe: TopicLayout.verified
        case .link: TopicLayout.unique
        case .entitle: TopicLayout.linked
        }
    }

    /// Without the prefix; nil for the last stage, which writes to PostgreSQL.
    static func output(of stage: StageName) -> String? {
        switch stage {
        case .verify: TopicLayout.verified
        case .dedupe: TopicLayout.unique
        case .link: TopicLayout.linked
        case .entitle: nil
        }
    }
}
