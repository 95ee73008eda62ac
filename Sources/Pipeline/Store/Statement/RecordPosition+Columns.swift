import Records

extension RecordPosition {
    /// The columns `<name>_topic`, `<name>_partition` and `<name>_offset`; all are NULL without a position.
    static func columns(_ name: String) -> Columns<RecordPosition?> {
        [
            Column("\(name)_topic", \.?.topic), Column("\(name)_partition", \.?.partition),
            Column("\(name)_offset", \.?.offset),
        ]
    }

    /// Reads the columns of `columns(_:)`.
    static func optionalReader(_ name: String) -> RowReader<RecordPosition?> {
        RowReader(
            { (topic: String?, partition: Int32?, offset: Int64?) in
                guard let topic, let partition, let offset else { return nil }
                return RecordPosition(topic: topic, partition: partition, offset: offset)
            }, RowReader(stringLiteral: "\(name)_topic"), RowReader(stringLiteral: "\(name)_partition"),
            RowReader(stringLiteral: "\(name)_offset"))
    }
}
