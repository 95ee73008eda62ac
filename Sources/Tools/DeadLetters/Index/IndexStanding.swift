package import AppStore
import Commands
import Kafka
package import Postgres
import Settings
import Store

/// The index's progress in reading the topic, stated with every answer from the index.
package struct IndexStanding: Equatable, Sendable {
    /// The time up to which answers of the index are complete; the present if all letters are read.
    ///
    /// `nil` if no letter was read.
    package let asOf: Timestamp?
    /// The number of letters that are not read yet.
    ///
    /// `nil` if Kafka did not answer.
    package let unread: Int64?
    private let now: Timestamp

    /// - Parameter asOf: the time of the last reading; not used if all letters are read.
    package init(asOf: Timestamp?, unread: Int64?, now: Timestamp) {
        self.asOf = unread == 0 ? now : asOf
        self.unread = unread
        self.now = now
    }

    /// Reads the progress; without an answer from Kafka the number of unread letters stays unknown.
    package static func read(_ topic: DeadLetterTopic, on database: PostgresClient, now: Timestamp) async throws
        -> IndexStanding
    {
        let readings = try await DeadLetterIndexTable.readings(of: topic.name, on: database)
        return IndexStanding(readings, marks: try? await topic.watermarks(), now: now)
    }

    /// - Parameter marks: the watermarks of the topic's partitions; `nil` if Kafka did not answer.
    init(_ readings: [DeadLetterIndexTable.Reading], marks: [Int32: Watermarks]?, now: Timestamp) {
        let next = Dictionary(uniqueKeysWithValues: readings.map { ($0.partition, $0.nextOffset) })
        // Only partitions with unread letters make an answer incomplete.
        let behind = readings.filter { $0.nextOffset < marks?[$0.partition]?.high ?? .max }
        self.init(asOf: behind.map(\.at).min(), unread: marks?.count(from: next), now: now)
    }

    /// Whether letters are unread and none was read for a minute.
    package var isStopped: Bool {
        guard let unread, unread > 0 else { return false }
        return now.milliseconds - (asOf?.milliseconds ?? 0) > Self.silenceMax
    }

    /// The progress as text, such as `as of 2026-01-31T12:00:00Z, 40 letters not read yet`, with
    /// advice if the index has stopped.
    package var text: String {
        let time = asOf.map { "as of \($0.toSecond)" } ?? "before any letter was read"
        guard let unread else { return "\(time); Kafka does not say how many letters are not read yet" }
        guard unread > 0 else { return "\(time), all read" }
        return "\(time), \(Quantity.counted(unread, "letter")) not read yet"
            + (isStopped ? ": the index has stopped, is 'dead-letter index' running?" : "")
    }

    private static let silenceMax: Int64 = 60_000
}

extension ToolContext {
    /// Reads the index's progress, for the note beside an answer.
    ///
    /// - Throws: a `CommandError` if the topic holds letters and none of them is indexed.
    func standing(of index: PostgresClient) async throws -> IndexStanding {
        let standing = try await IndexStanding.read(topic.within(.seconds(2)), on: index, now: now)
        guard standing.asOf != nil else {
            throw CommandError(
                ExitCode.unavailable,
                "nothing of \(topic.name) is indexed: start '\(DeadLetterTool.name) index'; 'tail' reads the topic itself"
            )
        }
        return standing
    }
}
