import Records
import Settings

extension WorkerConfiguration {
    init(_ settings: SettingsValues, _ stage: StageDescription) {
        self.init(
            stage: stage,
            inputTopics: [settings.topic(stage.inputTopic)],
            outputTopics: ([stage.outputTopic].compactMap { $0 } + stage.otherTopics
                + [Topic.outcomes]).map { settings.topic($0) },
            deadLetterTopic: settings.topic(Topic.deadLetter),
            consumerProperties: settings.consumerProperties(stage),
            producerProperties: settings.producerProperties(stage)
        )
        outcomesTopic = settings.topic(Topic.outcomes)
        batchRecordsMax = settings[WorkerSettings.batchRecordsMax]
        batchBytesMax = settings[WorkerSettings.batchBytesMax]
        batchesInFlightMax = settings[WorkerSettings.batchesInFlightMax]
        retryDelayMin = settings[WorkerSettings.retryDelayMin]
        retryDelayMax = settings[WorkerSettings.retryDelayMax]
        shutdownBudget = settings[WorkerSettings.shutdownBudget]
    }
}
