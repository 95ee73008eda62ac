/// The offsets between which a partition holds records.
package struct Watermarks: Sendable, Equatable {
    /// The oldest offset that retention has left.
    package let low: Int64
    /// The offset that the next record will get.
    package let high: Int64

    package init(low: Int64, high: Int64) {
        self.low = low
        self.high = high
    }
}
