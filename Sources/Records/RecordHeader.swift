/// The names of the headers that records carry on our topics, as bytes.
///
/// Those of dead letters are `DeadLetterHeader`'s.
package enum RecordHeader {
    /// Names the request that waits for a record's outcome.
    package static let correlationID = Array("correlation-id".utf8)
    /// W3C Trace Context.
    package static let traceparent = Array("traceparent".utf8)
    /// The user whom the ingestion service names beside a raw record.
    package static let userID = Array("user-id".utf8)
    /// How many bytes of an observation's value lie before the comma that leads to `payloads`.
    package static let head = Array("head".utf8)
    /// Which record an output was made of: see `InputPosition`.
    package static let input = Array("input".utf8)
}
