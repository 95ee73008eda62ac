import AppStore
import Postgres
import Records

/// Where a body was read from, as columns.
struct SourceColumns {
    private(set) var topics = PostgresArray(of: .text)
    private(set) var partitions = PostgresArray(of: .int8)
    private(set) var offsets = PostgresArray(of: .int8)
    private(set) var indices = PostgresArray(of: .int8)

    mutating func append(_ source: ObservationSource?) {
        topics.append(source?.topic)
        partitions.append(source.map { Int64($0.partition) })
        offsets.append(source?.offset)
        indices.append(source.map { Int64($0.index) })
    }
}
