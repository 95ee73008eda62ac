package import Records
import Settings

/// The loop's limits and topics.
package struct WorkerConfiguration: Sendable {
    package var stage: StageDescription
    /// The condition, such as the database, that fails while the stage's own steps fail.
    package var dependency = HealthCondition.broker
    /// The condition that fails while the stage's outboxes fail.
    ///
    /// `nil` for the same condition as `dependency`.
    package var outboxDependency: HealthCondition?
    /// The prefix of the names of all topics.
    package var topicPrefix = ""
    /// The topics to read.
    package var inputTopics: [String]
    /// The topics to write, except the dead-letter topic, for the checks at the start.
    package var outputTopics: [String]
    /// The topic of the next stage, if any; records written to it count as forwarded.
    package var nextTopic: String?
    package var deadLetterTopic: String
    /// The topic for the answers to records with a correlation ID.
    ///
    /// `nil` if the worker answers no record.
    package var outcomesTopic: String?
    package var consumerProperties: [String: String]
    package var producerProperties: [String: String]

    package var batchRecordsMax = 2_000
    package var batchBytesMax = 4 << 20
    /// Limit of unacknowledged output bytes; at the limit, no further batch is processed.
    package var outputBytesInFlightMax = 16 << 20
    /// Maximum batches in flight; one is being processed while the others await their acknowledgements.
    package var batchesInFlightMax = 3
    package var retryDelayMin = Duration.milliseconds(100)
    package var retryDelayMax = Duration.seconds(30)
    /// Maximum time between two attempts at a held record.
    ///
    /// Each attempt may take as long as the maximum time of a statement, and blocks all other records of this worker.
    package var holdDelayMax = Duration.seconds(120)
    package var shutdownBudget = Duration.seconds(20)
    /// Whether a static member leaves the group on a stop.
    package var leavesOnStop = false

    /// Maximum time for which records accumulate for a batch.
    package var gatherMax = Duration.milliseconds(20)
    /// Accumulation time for each record of the previous batch.
    ///
    /// Records accumulate for the maximum time at a rate of a thousand records a second or more.
    package var gatherPerRecord = Duration.milliseconds(1)
    /// Maximum wait of one poll for the first record.
    package var pollWait = Duration.milliseconds(100)
    /// Time without room for records after which the partitions are paused; polling continues.
    package var pauseAfter = Duration.seconds(1)
    /// Maximum time for batches in flight of revoked partitions before they are abandoned.
    package var revocationBudget = Duration.seconds(10)
    /// Time between two commits, except for revoked partitions; a commit costs the broker a write.
    package var commitInterval = Duration.milliseconds(200)
    /// Deadline of each request to the broker.
    package var callDeadline = Duration.seconds(10)
    /// Deadline for closing the clients at the end.
    package var closeDeadline = Duration.seconds(5)

    /// Returns the time for which records accumulate before the next poll.
    ///
    /// A batch costs every process some milliseconds, even with few records. But a single purchase is polled at once,
    /// and the wait after it is negligible.
    ///
    /// - Parameters:
    ///   - count: number of records in this poll.
    ///   - hasMore: whether more records are available than a batch may contain.
    func gatherTime(after count: Int, hasMore: Bool) -> Duration {
        hasMore ? .zero : min(gatherPerRecord * count, gatherMax)
    }

    /// Returns the topic with the settings that the pipeline requires of it.
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
