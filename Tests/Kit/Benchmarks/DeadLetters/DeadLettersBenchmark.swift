import AppStore
import DeadLetters
import JSON
import Kafka
import OpenSSL
import Operations
import Postgres
import Records
import Settings
import Store

/// One run of `bench dead-letters`.
struct DeadLettersBenchmark {
    /// Written at the same time.
    private static let partitions = 2
    private static let batch = 5_000
    private static let repetitions = 3
    private static let pageSize = 50
    /// The letters failed within this time, up to `end`.
    private static let span = Duration.seconds(7 * 86_400)
    /// 2026-02-01T00:00:00Z.
    private static let end: Int64 = 1_769_904_000_000

    let recordCount: Int
    let groupCount: Int
    let console: Console

    func run(on client: PostgresClient) async throws -> DeadLettersMeasurement {
        var decoding = Duration.zero
        var writing = Duration.zero
        var elapsed = Duration.zero
        let round = Self.partitions * Self.batch
        for first in stride(from: 0, to: recordCount, by: round) {
            let numbers = first..<min(first + round, recordCount)
            let batches = (0..<Self.partitions).map { partition in
                numbers.filter { $0 % Self.partitions == partition }.map(record)
            }
            let start = ContinuousClock.now
            async let odd = add(batches[1], of: 1, on: client)
            let even = try await add(batches[0], of: 0, on: client)
            for part in [even, try await odd] {
                decoding += part.decoding
                writing += part.writing
            }
            elapsed += ContinuousClock.now - start
            if first % (10 * round) == 0 {
                console.note("\(Quantity.grouped(numbers.upperBound)) letters are indexed")
            }
        }
        try await DeadLetterIndexTable.analyze(on: client)
        let answers = try await answers(on: client)
        let bytes = try await DeadLetterIndexTable.size(on: client)
        return DeadLettersMeasurement(
            recordCount: recordCount,
            groupCount: groupCount,
            decodingSeconds: decoding / .seconds(1),
            writingSeconds: writing / .seconds(1),
            seconds: elapsed / .seconds(1),
            mebibytes: bytes >> 20,
            answers: answers.sorted { $0.milliseconds > $1.milliseconds }
        )
    }

    /// Decodes and writes a batch of one partition, as a lane of the indexer does it.
    private func add(
        _ records: [ConsumerRecord],
        of partition: Int32,
        on client: PostgresClient
    ) async throws -> (decoding: Duration, writing: Duration) {
        let clock = ContinuousClock()
        var batch: [DeadLetterIndexTable.Record] = []
        let decoding = clock.measure {
            batch = records.map { (partition, $0.offset, DeadLetterRow($0)) }
        }
        let start = clock.now
        _ = try await DeadLetterIndexTable.add(
            batch,
            of: "storekit.dead-letter",
            nextOffsets: [partition: records.last.map { $0.offset + 1 } ?? 0],
            on: client
        )
        return (decoding, clock.now - start)
    }

    /// A letter as the topic holds it; every fact of it follows from its number.
    private func record(_ number: Int) -> ConsumerRecord {
        let group = number % groupCount
        let reason = RefusalReason.allCases[group % RefusalReason.allCases.count]
        let writer = DeadLetterWriter(
            DeadLetterContext(
                cluster: "bench",
                topic: "storekit.dead-letter",
                stage: number % 50 == 0 ? "link" : "verify",
                readsObservations: false,
                worker: "verify-\(number % 8)",
                verifierVersion: "1.0.0",
                configuration: SHA256.digest([1])
            )
        )
        var unverified = UnverifiedIdentifiers()
        unverified.transactionID = String(2_000_000_000_000_000 + number * 7)
        unverified.originalTransactionID = String(2_000_000_000_000_000 + number / 4)
        unverified.bundleID = "com.example.app\(group % 20)"
        unverified.environment = number % 100 == 0 ? "Sandbox" : "Production"
        unverified.productID = "product\(number % 300)"
        unverified.signedDate = Timestamp(milliseconds: Self.end)
        let certificates = [group, 1_000_000_007 + group % 3, 2_000_000_011].map { seed in
            CertificateFacts(
                fingerprint: SHA256.digest(Array("certificate \(seed)".utf8)),
                validity: 0...2_000_000_000
            )
        }
        let letter = writer.letter(
            for: ConsumerRecord(
                topicPartition: TopicPartition(topic: "storekit.raw", partition: 3),
                offset: Int64(number),
                timestampMilliseconds: Self.end,
                value: []
            ),
            Refusal(
                reason: reason,
                detail: "the ES256 signature does not match header and payload",
                chain: certificates,
                unverified: unverified
            ),
            value: .original,
            after: SHA256.digest([2])
        ).record
        let age = (Self.span / .milliseconds(1)) * (1 - Double(number) / Double(recordCount))
        return ConsumerRecord(
            topicPartition: TopicPartition(
                topic: letter.topic,
                partition: Int32(number % Self.partitions)
            ),
            offset: Int64(number),
            timestampMilliseconds: Self.end - Int64(age),
            headers: letter.headers
        )
    }

    /// The median time of each question.
    private func answers(
        on client: PostgresClient
    ) async throws -> [DeadLettersMeasurement.Answer] {
        var answers: [DeadLettersMeasurement.Answer] = []
        func measure(_ name: String, _ question: () async throws -> Void) async throws {
            var times: [Double] = []
            for _ in 0..<Self.repetitions {
                let start = ContinuousClock.now
                try await question()
                times.append((ContinuousClock.now - start) / .milliseconds(1))
            }
            answers.append(.init(name: name, milliseconds: times.sorted()[times.count / 2]))
        }
        for (name, query) in try queries() {
            try await measure("list \(name)") {
                _ = try await DeadLetterTable.page(query, limit: Self.pageSize, on: client)
            }
        }
        let all = DeadLetterQuery()
        for grouping in DeadLetterGrouping.allCases {
            try await measure("count by \(grouping.rawValue)") {
                _ = try await DeadLetterCounts.counts(by: grouping, all, limit: 1_000, on: client)
            }
        }
        try await measure("groups") {
            let now = Timestamp(milliseconds: Self.end)
            _ = try await DeadLetterGroupTable.largest(
                all,
                now: now,
                limit: Self.pageSize,
                on: client
            )
        }
        try await measure("search") {
            _ = try await DeadLetterTable.search("2000000000000007", limit: 50, on: client)
        }
        return answers
    }

    /// One for each filter, by facts of a letter from the middle.
    private func queries() throws -> [(name: String, query: DeadLetterQuery)] {
        guard let row = DeadLetterRow(record(recordCount / 2)) else {
            throw BenchError("a record of the measurement is no dead letter")
        }
        let leaf = row.certificates.leaf
        let since = Timestamp(milliseconds: row.failedAt.milliseconds)
        let until = Timestamp(milliseconds: row.failedAt.milliseconds + 3_600_000)
        let filters: [(String, (inout DeadLetterQuery) -> Void)] = [
            ("all", { _ in }), ("by reason", { $0.reasons = [row.reason] }),
            ("by class", { $0.classes = [row.deadLetterClass] }),
            ("by stage", { $0.stages = ["link"] }), ("by state open", { $0.states = [.open] }),
            ("by state resolved", { $0.states = [.resolved] }),
            ("by bundle", { $0.bundleID = row.identifiers.bundleID }),
            ("by environment", { $0.environment = "Sandbox" }),
            ("by unknown environment", { $0.environment = "Xcode" }),
            ("by product", { $0.productID = row.identifiers.productID }),
            ("by transaction", { $0.transactionID = row.identifiers.transactionID }),
            ("by certificate", { $0.certificate = leaf }),
            ("by root", { $0.certificate = row.certificates.root }),
            ("by beginning of certificate", { $0.certificate = leaf.map { String($0.prefix(8)) } }),
            ("by worker", { $0.worker = row.worker }),
            ("by source", { $0.source = row.source.position }),
            ("by group", { $0.group = row.groupID }), ("by ID", { $0.ids = [row.id] }),
            ("by time", { ($0.since, $0.until) = (since, until) }),
            (
                "by reason and bundle",
                { ($0.reasons, $0.bundleID) = ([row.reason], row.identifiers.bundleID) }
            ),
        ]
        return filters.map { name, change in
            var query = DeadLetterQuery()
            change(&query)
            return (name, query)
        }
    }
}

/// The result of one run of `bench dead-letters`.
struct DeadLettersMeasurement: BenchReport {
    struct Answer {
        let name: String
        /// The median.
        let milliseconds: Double
    }

    let recordCount: Int
    let groupCount: Int
    let decodingSeconds: Double
    let writingSeconds: Double
    /// From the first record to the last row, by the clock.
    let seconds: Double
    let mebibytes: Int64
    /// The slowest first.
    let answers: [Answer]

    var goals: [Goal] {
        let rate = Double(recordCount) / seconds
        let slowest = answers.first?.milliseconds ?? 0
        return [
            Goal("letters/s", "letters_per_second", rate, atLeast: 20_000),
            Goal("slowest answer, ms", "slowest_answer_milliseconds", slowest, atMost: 200),
        ]
    }

    private static let slowestShown = 8

    var lines: [String] {
        let count = Double(recordCount)
        let decoding = FixedPoint.text(decodingSeconds / count * 1_000_000, digits: 1)
        let writing = FixedPoint.text(writingSeconds / count * 1_000_000, digits: 1)
        var slowest = TextTable([.init("slowest answers"), .init("ms", .right)])
        for answer in answers.prefix(Self.slowestShown) {
            slowest.add([answer.name, FixedPoint.text(answer.milliseconds, digits: 1)])
        }
        return [
            "\(Quantity.grouped(recordCount)) dead letters of \(Quantity.grouped(groupCount)) "
                + "groups: \(decoding) µs to decode and \(writing) µs to write each, "
                + "\(mebibytes) MiB",
            "",
        ] + Goal.table(goals) + [""] + slowest.lines()
    }

    var json: JSONContent {
        let times = answers.map { ($0.name, JSONContent.figure($0.milliseconds, digits: 1)) }
        return [
            "benchmark": "dead-letters", "records": recordCount, "groups": groupCount,
            "answers_milliseconds": JSONContent.object(times),
        ] + Goal.json(goals)
    }
}
