import Commands
package import Kafka
import Settings

/// Creates and changes a cluster's topics to match the layout, if no data is lost.
package struct TopicDeployment: Sendable {
    private static let deadline = Duration.seconds(30)
    private static let propagationPause = Duration.milliseconds(100)

    private let admin: KafkaAdmin
    private let layout: TopicLayout

    package init(_ admin: KafkaAdmin, _ layout: TopicLayout) {
        self.admin = admin
        self.layout = layout
    }

    /// Creates missing topics, compares existing ones, and changes settings only if requested.
    ///
    /// The replication is never changed. Partitions are only added on request, to topics that
    /// stages read. A purchase's history then continues in another partition, which loses its
    /// readable order in the log but no correctness.
    package func run(isAltering: Bool, isAddingPartitions: Bool = false) async throws -> TopicReport {
        var report = TopicReport()
        report.created = try await create()
        let existing = layout.plans.filter { !report.created.contains($0.name) }
        report.existing = existing.map(\.name)
        guard !existing.isEmpty else { return report }
        try await compare(existing, &report)
        if isAddingPartitions {
            let extended = try await addPartitions(report.differences)
            report.extended = extended
            try await compare(existing, &report) { difference in
                difference.isMissingPartitions && extended.contains(difference.topic)
            }
        }
        guard isAltering else { return report }
        report.altered = try await alter(report.differences)
        try await compare(existing, &report, until: \.isSetting)
        return report
    }

    /// Compares repeatedly, because the brokers need a moment to propagate changes.
    ///
    /// - Parameter isPassing: whether a difference is expected to disappear.
    private func compare(_ plans: [TopicPlan], _ report: inout TopicReport, until isPassing: (TopicDifference) -> Bool)
        async throws
    {
        let end = ContinuousClock.now + Self.deadline
        while ContinuousClock.now < end {
            report.differences = []
            try await compare(plans, &report)
            guard report.differences.contains(where: isPassing) else { return }
            try await Task.sleep(for: Self.propagationPause)
        }
    }

    private func create() async throws -> [String] {
        // Request all topics: some clusters create a topic that is requested by name.
        let metadata = try await admin.metadata(deadline: Self.deadline)
        let names = layout.plans.map(\.name).filter { !metadata.knows($0) }
        let fitting = layout.fitting(brokerCount: metadata.brokerIDs.count)
        let failures = try await admin.createTopics(
            fitting.plans.filter { names.contains($0.name) }.map { plan in
                NewTopic(
                    name: plan.name, partitions: Int(plan.partitions),
                    replication: plan.replication.map(Int.init) ?? -1, configuration: plan.configuration)
            }, deadline: Self.deadline)
        // Another program may be creating the topics at the same time.
        let failed = failures.filter { $0.value.code != .topicAlreadyExists }
        if let first = failed.min(by: { $0.key < $1.key }) {
            throw Self.refusal(of: first.key, first.value, metadata.brokerIDs.count)
        }
        try await waitUntilKnown()
        return names.filter { failures[$0] == nil }
    }

    private static func refusal(of topic: String, _ error: KafkaError, _ brokerCount: Int) -> any Error {
        let named = error.naming(topic: topic)
        guard error.name == "INVALID_REPLICATION_FACTOR" else { return named }
        return CommandError(
            ExitCode.usage,
            "\(named)\nthe cluster has \(Quantity.counted(brokerCount, "broker", "brokers")): "
                + "--replication \(brokerCount) is the most")
    }

    /// Waits until the brokers know the topics, which is a moment after the controller creates them.
    private func waitUntilKnown() async throws {
        let end = ContinuousClock.now + Self.deadline
        while true {
            let metadata = try await admin.metadata(deadline: Self.deadline)
            let unknown = layout.plans.first { !metadata.knows($0.name) }
            guard let unknown else { return }
            guard ContinuousClock.now < end else { throw KafkaError.deadline("waiting for topic \(unknown.name)") }
            try await Task.sleep(for: Self.propagationPause)
        }
    }

    private func compare(_ plans: [TopicPlan], _ report: inout TopicReport) async throws {
        let metadata = try await admin.metadata(deadline: Self.deadline)
        let answer = try await admin.topicConfigurations(plans.map(\.name), deadline: Self.deadline)
        if case .unanswered(let error) = answer { report.unanswered = error.description }
        for plan in plans {
            guard let topic = metadata[topic: plan.name] else { continue }
            report.differences += TopicDifference.between(
                plan, partitions: Int32(clamping: topic.partitionCount),
                configuration: answer.value?[plan.name]?.mapValues(\.value) ?? [:])
        }
    }

    private func addPartitions(_ differences: [TopicDifference]) async throws -> [String] {
        let flow = Set(TopicLayout.flow.map { layout.prefix + $0 })
        var totals: [String: Int] = [:]
        for difference in differences where difference.isMissingPartitions {
            guard flow.contains(difference.topic) else { continue }
            totals[difference.topic] = Int(difference.planned)
        }
        let failures = try await admin.createPartitions(totals, deadline: Self.deadline)
        if let first = failures.min(by: { $0.key < $1.key }) { throw first.value.naming(topic: first.key) }
        return totals.keys.sorted()
    }

    private func alter(_ differences: [TopicDifference]) async throws -> [String] {
        let changes = Dictionary(grouping: differences.filter(\.isSetting), by: \.topic)
        for (topic, settings) in changes {
            let values = Dictionary(uniqueKeysWithValues: settings.map { ($0.property, $0.planned) })
            let answer = try await admin.setTopicConfiguration(topic, values, deadline: Self.deadline)
            if case .unanswered(let error) = answer { throw error.naming(topic: topic) }
        }
        return changes.keys.sorted()
    }
}

extension ClusterMetadata {
    fileprivate func knows(_ topic: String) -> Bool { self[topic: topic].map { $0.error == nil } ?? false }
}

extension TopicDifference {
    /// Whether the property is a setting, which can be changed without moving records.
    fileprivate var isSetting: Bool { property.contains(".") }

    /// Whether the topic has fewer partitions than planned.
    fileprivate var isMissingPartitions: Bool {
        guard property == "partitions", let planned = Int(planned), let found = Int(found) else { return false }
        return found < planned
    }
}

extension KafkaError {
    fileprivate func naming(topic: String) -> KafkaError {
        KafkaError(
            code: code, name: name, message: "topic \(topic): \(message)", isRetriable: isRetriable, isFatal: isFatal)
    }
}
