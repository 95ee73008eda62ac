import AppStore
import Kafka
import Platform
import Postgres
import Records
import Store
import Topology

/// A run of a replay, from its beginning or from the point where a former run was interrupted.
///
/// The replay and its letters are recorded before the run, and positions of sent records after the
/// broker has acknowledged them. After a crash at any step the next run skips no record. It may
/// send a record again, which deduplication makes harmless. Refusals are read from the index. A
/// record is accepted when its stage has committed it and the index, which has read every dead
/// letter written before that commit, holds none for the record.
final class ReplayRun {
    private let names: ReplayNames
    private let ledger: ReplayLedger
    private let limits: ReplayLimits
    private let count: Int
    private let stop: ReplayStop
    private let report: (ReplayProgress) -> Void
    private let producer: KafkaProducer
    private let reader: ReplayReader
    private var account: ReplayAccount
    private var counts: ReplayCounts
    /// The commits of the stages, and the ends of the dead-letter topic that were read after them.
    ///
    /// `nil` if the index has reached these ends.
    private var awaited: (committed: [TopicPartition: Int64], marks: [Int32: Watermarks])?
    /// The progress of the index at the last search for refusals.
    private var searched: [DeadLetterIndexTable.Reading] = []
    private var standing: IndexStanding?
    private var lastDecision = ContinuousClock.now

    init(
        _ names: ReplayNames, _ ledger: ReplayLedger, row: ReplayRow, limits: ReplayLimits, account: ReplayAccount,
        reader: ReplayReader, producer: KafkaProducer, stop: ReplayStop, report: @escaping (ReplayProgress) -> Void
    ) {
        self.names = names
        self.ledger = ledger
        self.limits = limits
        self.stop = stop
        self.report = report
        count = Int(row.count)
        counts = row.counts
        self.account = account
        self.reader = reader
        self.producer = producer
    }

    /// Sends the remaining records, and waits until every outcome is known.
    func run() async throws -> ReplayProgress {
        var due = ContinuousClock.now
        var failure: String?
        // After too many refusals nothing more is sent, but sent records are still followed.
        while failure == nil ? !account.isSettled : !account.undecided.isEmpty {
            if let why = stop.why { return try await end(.interrupted, why) }
            let now = ContinuousClock.now
            let mayBeSent = failure == nil && now >= due
            let batch = mayBeSent ? min(account.sendable, batchMax) : 0
            if batch > 0 {
                try await send(account.next(batch))
                let time = Duration.seconds(Double(batch) / Double(limits.rate))
                due = max(due, now - Self.burst) + time
            }
            try await look()
            if account.isFailing {
                failure = "more than \(limits.failingShareMax) of the last records were refused again"
            }
            try await requireProgress()
            if batch == 0 { await pause(until: due) }
        }
        if let failure { return try await end(.stopped, failure) }
        if let why = try await followLaterStages() { return try await end(.interrupted, why) }
        return try await end(.completed, "")
    }

    private func progress(_ state: ReplayState, _ note: String = "") -> ReplayProgress {
        ReplayProgress(number: ledger.replay, state: state, count: count, counts: counts, note: note)
    }

    private func end(_ state: ReplayState, _ note: String) async throws -> ReplayProgress {
        let action = state == .completed ? DeadLetterAction.Kind.replayCompleted : .replayStopped
        try await ledger.setState(state, note: note, action: action)
        let last = progress(state, note)
        report(last)
        return last
    }

    /// Maximum records of a batch: those of a tenth of a second, so that the rate also holds within a second.
    private var batchMax: Int { min(max(1, limits.rate / 10), Self.chunkMax) }

    /// Waits until the next record or the next search for outcomes is due.
    private func pause(until due: ContinuousClock.Instant) async {
        let wait = due - ContinuousClock.now
        let isSending = account.sendable > 0 && wait > .zero
        try? await Task.sleep(for: isSending ? min(wait, Self.lookInterval) : Self.lookInterval)
    }

    private var hasProgress: Bool { account.undecided.isEmpty || ContinuousClock.now - lastDecision < limits.waitMax }

    private func requireProgress() async throws {
        guard !hasProgress else { return }
        // Letters may have come since the ends were read that the index has not reached.
        awaited = nil
        try await look()
        guard hasProgress else {
            if let standing, standing.unread != 0 {
                throw ReplayError(
                    .interrupted, "nothing was decided for \(limits.waitText): the index is \(standing.text)")
            }
            let groups = Set(account.sentPartitions.map(\.topic)).compactMap { names.stages[$0] }.map {
                names.group($0)
            }.sorted()
            throw ReplayError(
                .interrupted,
                "nothing was decided for \(limits.waitText): does the group"
                    + " \(groups.joined(separator: " or ")) read, or has a breaker tripped?")
        }
    }
}

extension ReplayRun {
    /// Sends a batch, and records the positions of its records and the reasons for those that cannot be sent.
    private func send(_ rows: [ReplayRecordRow]) async throws {
        let ids = rows.map(\.letterID)
        // Redactions are read for each batch, because a letter may have been redacted since the run began.
        let redactions = try await ledger.redacted(among: ids)
        let originals = try await reader.originals(of: ids, redactions: redactions)
        var unsent: [ReplayRecordTable.Decided] = []
        // Several letters may have the same body, which is sent once for all of them.
        var sending: [(rows: [ReplayRecordRow], record: ProducerRecord)] = []
        var places: [RecordPosition: Int] = [:]
        var sent: [(row: ReplayRecordRow, position: RecordPosition)] = []
        for (row, original) in zip(rows, originals) {
            switch original {
            case .failure(let why): unsent.append(.init(ordinal: row.ordinal, .unsent, reason: why.description))
            case .success(let original):
                if let position = account.position(ofBody: original.body) {
                    sent.append((row, position))
                } else if let place = places[original.body] {
                    sending[place].rows.append(row)
                } else {
                    places[original.body] = sending.count
                    let partitions = try await reader.partitionCount(original.body.topic)
                    sending.append(([row], original.record(partitionCount: partitions ?? 0)))
                }
            }
        }
        if account.undecided.isEmpty { lastDecision = .now }
        let delivery = await producer.send(sending.map(\.record))
        var failure: KafkaError?
        for (index, element) in sending.enumerated() {
            if let error = delivery.failures[index] {
                guard error.isRecordFault else {
                    // After a fatal error only its first cause says what to do.
                    failure = producer.fatalError ?? error
                    continue
                }
                let why = "the broker refused it: \(error.name)"
                unsent += element.rows.map { .init(ordinal: $0.ordinal, .unsent, reason: why) }
            } else {
                let position = RecordPosition(
                    topic: element.record.topic, partition: element.record.partition ?? 0,
                    offset: delivery.offsets[index])
                sent += element.rows.map { ($0, position) }
            }
        }
        try await ledger.sent(sent.map { ($0.row.ordinal, $0.position) })
        for (row, position) in sent { account.sent(position, of: row) }
        try await ledger.decided(unsent)
        counts.sent += Int64(sent.count)
        counts.unsent += Int64(unsent.count)
        report(progress(.running))
        if let failure { throw failure }
    }
}

extension ReplayRun {
    /// Searches the index for the outcomes of sent records, and records them.
    ///
    /// - Parameter isLast: whether to search for all of them, instead of the recent ones.
    /// - Returns: whether the index has reached the topic's awaited ends.
    @discardableResult private func look(isLast: Bool = false) async throws -> Bool {
        // The replay's session is used because the run must stop if the server has ended that session.
        let readings = try await ledger.readings(of: names.deadLetterTopic)
        let (committed, marks) = if let awaited { awaited } else { try await ends(after: readings) }
        let standing = IndexStanding(readings, marks: marks, now: Timestamp(milliseconds: WallClock.milliseconds))
        let isReached = standing.unread == 0
        self.standing = standing
        awaited = isReached ? nil : (committed, marks)
        var decided: [ReplayRecordTable.Decided] = []
        let isWhole = isLast && isReached
        if readings != searched || isWhole {
            let ordinals = isWhole ? account.refusable : account.recentlySent
            decided = account.refuse(try await ledger.refused(among: ordinals))
            searched = readings
        }
        if isReached { decided += account.accepted(committed: committed) }
        guard !decided.isEmpty else { return isReached }
        try await ledger.decided(decided)
        lastDecision = .now
        counts = try await ledger.row().counts
        report(progress(.running))
        return isReached
    }

    /// Reads the commits of the stages, and then the ends of the dead-letter topic.
    ///
    /// A stage writes its dead letter before it commits, so these ends include the dead letter.
    private func ends(after readings: [DeadLetterIndexTable.Reading]) async throws -> (
        committed: [TopicPartition: Int64], marks: [Int32: Watermarks]
    ) {
        let name = names.deadLetterTopic
        let partitions = account.sentPartitions
        let committed = partitions.isEmpty ? [:] : try await committed(partitions)
        let count = try await reader.partitionCount(name) ?? 0
        let marks = try await reader.admin.listOffsets(
            (0..<Int32(count)).map { TopicPartition(topic: name, partition: $0) }, deadline: Self.deadline)
        for reading in readings {
            let partition = TopicPartition(topic: name, partition: reading.partition)
            let end = marks[partition]?.high ?? 0
            guard reading.nextOffset <= end else {
                throw ReplayError(
                    .interrupted,
                    "\(partition) ends at \(end), before the offset \(reading.nextOffset) that the index has read: "
                        + "the topic was recreated; abandon the replay")
            }
        }
        return (committed, Dictionary(uniqueKeysWithValues: marks.map { ($0.key.partition, $0.value) }))
    }

    /// The offsets that the stages' groups have committed in these partitions.
    ///
    /// A commit beyond its partition's end is left out: it is from a topic that was deleted since.
    private func committed(_ partitions: Set<TopicPartition>) async throws -> [TopicPartition: Int64] {
        var committed: [TopicPartition: Int64] = [:]
        for (topic, partitions) in Dictionary(grouping: partitions, by: \.topic) {
            guard let stage = names.stages[topic] else { continue }
            let found = try await reader.admin.committedOffsets(
                group: names.group(stage), partitions, deadline: Self.deadline)
            let marks = try await reader.admin.listOffsets(partitions, deadline: Self.deadline)
            for (partition, commit) in found {
                guard let offset = commit.offset, let end = marks[partition]?.high, offset <= end else { continue }
                committed[partition] = offset
            }
        }
        return committed
    }

    /// Waits until each later stage in turn has settled the replay's observations, so that its refusals are known.
    ///
    /// - Returns: the reason for an early end of the wait; `nil` if everything is settled.
    private func followLaterStages() async throws -> String? {
        let first = Topology.stages.firstIndex { stage in
            account.sentTopics.contains(names.topicPrefix + stage.inputTopic)
        }
        guard let first else { return nil }
        for stage in Topology.stages[(first + 1)...] {
            let topic = names.topicPrefix + stage.inputTopic
            let count = try await reader.partitionCount(topic) ?? 0
            let partitions = (0..<Int32(count)).map { TopicPartition(topic: topic, partition: $0) }
            let marks = try await reader.admin.listOffsets(partitions, deadline: Self.deadline)
            var waiting = marks.filter { $0.value.low < $0.value.high }.mapValues(\.high)
            let end = ContinuousClock.now + limits.waitMax
            while true {
                let committed = try await committed(Set(waiting.keys))
                waiting = waiting.filter { committed[$0.key, default: 0] < $0.value }
                if waiting.isEmpty { break }
                if let why = stop.why { return why }
                guard ContinuousClock.now < end else {
                    return "\(stage.program) has not settled the replay's observations within"
                        + " \(limits.waitText): is it running?"
                }
                try? await Task.sleep(for: Self.lookInterval)
            }
        }
        // Ends that were read before the last commit may not include its dead letter.
        awaited = nil
        let end = ContinuousClock.now + limits.waitMax
        while try await !look(isLast: true) {
            if let why = stop.why { return why }
            guard ContinuousClock.now < end else {
                return "the index has not read the last dead letters within \(limits.waitText): "
                    + (standing?.text ?? "its progress is unknown")
            }
            try? await Task.sleep(for: Self.lookInterval)
        }
        return nil
    }

    private static let deadline = Duration.seconds(30)
    private static let lookInterval = Duration.milliseconds(200)
    /// Maximum delay that is made up for by sending faster afterwards.
    private static let burst = Duration.milliseconds(500)
    /// Maximum records sent at once, because each may hold megabytes.
    private static let chunkMax = 100
}
