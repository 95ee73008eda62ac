import Kafka
import Settings
import Telemetry

/// A command of `SessionCore` that any task performs at once.
enum SessionCommand: Sendable {
    /// Puts a batch through the stage.
    case process(Batch)
    /// Begins a turn of the polling task.
    case turn
    case commit
    /// Sets why this worker does not read; nil if it does.
    case setObstacle(String?)
    case setPartitions(Int)
    case setBatchesInFlight(Int)
    /// Counts what was added to a tally.
    case settled(TallyIncrement)
    /// Counts a commit by its result.
    case committed(String)
    case failed(FaultStep, any Error)
    /// No record is held any more; by the verdict on the last one, or nil if it was given up.
    case holdsEnded(by: Verdict?)
    case reportMissing(topic: String)
    /// The settings refuse too much.
    case breakerTripped(limit: Int, refused: [String])
    case breakerPasses
    case log(LogLevel, StaticString, LogMetadata)
}

/// A command of `SessionCore` to the consumer: the polling task performs them in order, and an
/// error ends the consumer.
enum ConsumerCommand: Sendable, Equatable {
    /// Requests the committed offsets, answered by `SessionCore.begin`.
    case load([PartitionClaim])
    /// Answers an assignment with the offsets to read from.
    case assign([TopicPartition: Int64?])
    case pause([TopicPartition])
    case resume([TopicPartition])
    /// Reads again from these offsets, answered by `SessionCore.sought` if it succeeds.
    case seek([TopicPartition: Int64], isResuming: Bool)
    case completeRevocation([TopicPartition])
}
