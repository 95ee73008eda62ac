import Records

extension StageName {
    /// What the stage reads, without the topics' prefix.
    package var inputTopic: String {
        switch self {
        case .verify: Topic.raw
        case .dedupe: Topic.verified
        case .link: Topic.unique
        case .entitle: Topic.linked
        }
    }

    /// Where observations go on to, without the topics' prefix; nil for the last stage.
    package var outputTopic: String? {
        switch self {
        case .verify: Topic.verified
        case .dedupe: Topic.unique
        case .link: Topic.linked
        case .entitle: nil
        }
    }

    /// What the stage writes besides, without the topics' prefix.
    package var otherTopics: [String] {
        switch self {
        case .verify, .dedupe, .link: [Topic.outcomes]
        case .entitle: [Topic.outcomes, Topic.changed, Topic.current]
        }
    }
}
