extension StageName {
    /// What the stage reads, without the topics' prefix.
    package var inputTopic: String {
        switch self {
        case .verify: "raw"
        case .dedupe: "verified"
        case .link: "unique"
        case .entitle: "linked"
        }
    }

    /// Where observations go on to, without the topics' prefix; nil for the last stage.
    package var outputTopic: String? {
        switch self {
        case .verify: "verified"
        case .dedupe: "unique"
        case .link: "linked"
        case .entitle: nil
        }
    }

    /// What the stage writes besides, without the topics' prefix.
    package var otherTopics: [String] {
        switch self {
        case .verify, .dedupe, .link: [Self.outcomesTopic]
        case .entitle: [Self.outcomesTopic, Self.changedTopic, Self.currentTopic]
        }
    }

    package static let deadLetterTopic = "dead-letter"
    /// What became of records that carry a correlation ID.
    package static let outcomesTopic = "outcomes"
    /// Every change of what users may use.
    package static let changedTopic = "entitlements.changed"
    /// The newest state of each user.
    package static let currentTopic = "entitlements.current"
}
