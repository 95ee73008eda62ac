import Kafka
import Settings
import Telemetry

/// A command of `SessionCore` that any task performs immediately.
enum SessionCommand: Sendable {
    /// Passes a batch to the stage.
    case process(Batch)
    /// Begins a turn of the polling task.
    case turn
    case commit
    /// Sets the reason why this worker does not read; `nil` if it reads.
    case setObstacle(String?)
    case setPartitions(Int)
    case setBatchesInFlight(Int)
    /// Counts an increment of a tally.
    case settled(TallyIncrement)
    /// Counts a commit under its result.
    case committed(String)
    case failed(FaultStep, any Error)
    /// Reports that no record is held any more, with the verdict on the last one, or `nil` if it was released.
    case holdsEnded(by: Verdict?)
    case reportMissing(topic: String)
    /// Reports that the settings refuse too many records.
    case breakerTripped(limit: Int, refused: [String])
    case breakerPasses
    case log(LogLevel, StaticString, LogMetadata)
}

/// A command of `SessionCore` to the consumer; the polling task performs these commands in order, and an error ends
/// the consumer.
enum ConsumerCommand: Sendable, Equatable {
    /// Requests the committed offsets; the answer is `SessionCore.begin`.
    case load([PartitionClaim])
    /// Answers an assignment with the start offsets.
    case assign([TopicPartition: Int64?])
    case pause([TopicPartition])
    case resume([TopicPartition])
    /// Seeks to these offsets; the answer is `SessionCore.sought` if the seek succeeds.
    case seek([TopicPartition: Int64], isResuming: Bool)
    case completeRevocation([TopicPartition])
}
