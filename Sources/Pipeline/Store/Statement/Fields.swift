/// A value whose columns are declared in one list for writing and reading.
protocol StoredValue: Sendable { static var fields: Fields<Self> { get } }

extension StoredValue {
    static var columns: Columns<Self> { fields.columns }
    static var reader: RowReader<Self> { fields.reader }
}

/// The columns of a value, each with the part of the value that it stores.
///
///     Fields(Revision.init, Field("signed_date_ms", \.signedDate), …)
struct Fields<Whole: Sendable>: Sendable {
    let columns: Columns<Whole>
    let reader: RowReader<Whole>

    /// - Parameter build: creates the value from the parts, in the order of the fields.
    init<each Part>(_ build: @escaping @Sendable (repeat each Part) -> Whole, _ fields: repeat Field<Whole, each Part>)
    {
        var columns: Columns<Whole> = []
        for field in repeat each fields { columns = columns + field.columns }
        self.columns = columns
        reader = RowReader(build, repeat (each fields).reader)
    }
}

/// A part of a value: one column, or the columns of a nested value.
struct Field<Whole, Part>: Sendable {
    fileprivate let columns: Columns<Whole>
    fileprivate let reader: RowReader<Part>

    /// Creates a field from columns and a reader that are given separately.
    init(columns: Columns<Whole>, reader: RowReader<Part>) {
        self.columns = columns
        self.reader = reader
    }

    init(_ name: String, _ get: @escaping @Sendable (Whole) -> Part) where Part: ColumnValue {
        columns = [Column(name, get)]
        reader = RowReader(stringLiteral: name)
    }

    init(_ get: @escaping @Sendable (Whole) -> Part) where Part: StoredValue {
        columns = Part.columns.of(get)
        reader = Part.reader
    }
}
