/// One header of a record.
///
/// The name is kept as bytes: a producer may have written any, and a dead letter must carry them as
/// they came. A null value (`nil`) and an empty one are different things.
package struct KafkaHeader: Sendable, Equatable {
    package let nameBytes: [UInt8]
    package let value: [UInt8]?

    package init(nameBytes: [UInt8], value: [UInt8]?) {
        self.nameBytes = nameBytes
        self.value = value
    }

    package init(name: String, value: [UInt8]?) {
        self.init(nameBytes: Array(name.utf8), value: value)
    }

    package init(name: String, text: String) {
        self.init(nameBytes: Array(name.utf8), value: Array(text.utf8))
    }

    /// The name as text; bytes that are not UTF-8 are repaired.
    package var name: String { String(decoding: nameBytes, as: UTF8.self) }
}
