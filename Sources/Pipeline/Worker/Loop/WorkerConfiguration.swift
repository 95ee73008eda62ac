package import Records
import Settings

/// The loop's bounds and topics.
package struct WorkerConfiguration: Sendable {
    package var stage: StageDescription
    /// The condition that does not hold while the stage's own steps fail, such as the database.
    package var dependency = HealthCondition.broker
    /// The condition that does not hold while its outboxes fail; nil for the same one.
    package var outboxDependency: HealthCondition?
    /// Begins the names of all topics.
    package var topicPrefix = ""
    /// The topics to read.
    package var inputTopics: [String]
    /// The topics to write, without the dead letters; for the checks at start.
    package var outputTopics: [String]
    /// The topic of the next stage, if any; records written to it count as forwarded.
    package var nextTopic: String?
    package var deadLetterTopic: String
    /// Where records that carry a correlation ID are answered; nil for no answers.
    package var outcomesTopic: String?
    package var consumerProperties: [String: String]
    package var producerProperties: [String: String]

    package var batchRecordsMax = 2_000
    package var batchBytesMax = 4 << 20
    /// Bound on unacknowledged output bytes, from which on nothing more is processed.
    package var outputBytesInFlightMax = 16 << 20
    /// One is processed while the others await their acknowledgements.
    package var batchesInFlightMax = 3
    package var retryDelayMin = Duration.milliseconds(100)
    package var retryDelayMax = Duration.seconds(30)
    /// Between two attempts at a record that its partition waits for: each may take as long as a
    /// statement may, while no other record of this worker is processed.
    package var holdDelayMax = Duration.seconds(120)
    package var shutdownBudget = Duration.seconds(20)
    /// Whether a static member leaves the group on a stop.
    package var leavesOnStop = false

    /// How long records gather for a batch at most.
    package var gatherMax = Duration.milliseconds(20)
    /// For each record of the batch before: from a thousand records a second on they gather for the
    /// whole time.
    package var gatherPerRecord = Duration.milliseconds(1)
    /// How long one poll waits for the first record.
    package var pollWait = Duration.milliseconds(100)
    /// After this long without room for records the partitions are paused, and polling continues.
    package var pauseAfter = Duration.seconds(1)
    /// How long batches in flight of revoked partitions may take before they are abandoned.
    package var revocationBudget = Duration.seconds(10)
    /// Between two commits, except when partitions are given up: a commit costs the broker a write.
    package var commitInterval = Duration.milliseconds(200)
    /// For each question to the broker.
    package var callDeadline = Duration.seconds(10)
    /// For closing the clients at the end.
    package var closeDeadline = Duration.seconds(5)

    /// How long records gather before the next poll.
    ///
    /// A batch costs every process some milliseconds, however few records it has. But a purchase
    /// that comes alone is polled at once, and next to nothing is waited for after it.
    ///
    /// - Parameters:
    ///   - count: records of this poll.
    ///   - hasMore: whether there are more records already than fit a batch.
    func gatherTime(after count: Int, hasMore: Bool) -> Duration {
        hasMore ? .zero : min(gatherPerRecord * count, gatherMax)
    }

    /// The topic with the settings that the pipeline's topic of its name must have.
    func need(of topic: String) -> TopicNeed {
        let isPrefixed = topic.utf8.starts(with: topicPrefix.utf8)
        let name = isPrefixed ? String(topic.dropFirst(topicPrefix.count)) : topic
        return TopicNeed(topic, Topic.requiredSettings(of: name))
    }

    var backoff: Backoff { Backoff(delayMin: retryDelayMin, delayMax: retryDelayMax) }
    var holdBackoff: Backoff { Backoff(delayMin: retryDelayMin, delayMax: holdDelayMax) }
}

extension WorkerConfiguration {
    init(_ settings: SettingsValues, _ stage: StageDescription) {
        self.init(
            stage: stage, inputTopics: [settings.topic(stage.inputTopic)],
            outputTopics: stage.writtenTopics.map { settings.topic($0) },
            nextTopic: stage.outputTopic.map { settings.topic($0) }, deadLetterTopic: settings.topic(Topic.deadLetter),
            outcomesTopic: settings.topic(Topic.outcomes), consumerProperties: settings.consumerProperties(stage),
            producerProperties: settings.producerProperties(stage))
        topicPrefix = settings.topic("")
        batchRecordsMax = settings[WorkerSettings.batchRecordsMax]
        batchBytesMax = settings[WorkerSettings.batchBytesMax]
        batchesInFlightMax = settings[WorkerSettings.batchesInFlightMax]
        gatherMax = settings[WorkerSettings.gatherMax]
        retryDelayMin = settings[WorkerSettings.retryDelayMin]
        retryDelayMax = settings[WorkerSettings.retryDelayMax]
        shutdownBudget = settings[WorkerSettings.shutdownBudget]
        leavesOnStop = settings[WorkerSettings.leaveOnStop]
    }
}
