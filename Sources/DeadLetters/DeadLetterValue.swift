/// Whether a dead letter carries the record's value: the header `dlq.value`.
package enum DeadLetterValue: String, Sendable, CaseIterable {
    /// As it came; a null is a null.
    case original
    /// The broker takes no record of that size: where the original lies stands in the headers.
    case omitted
}
