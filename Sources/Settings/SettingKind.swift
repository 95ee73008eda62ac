/// The type of a setting: how its values are read, shown and described.
package struct SettingKind<Value: Sendable>: Sendable {
    /// A word or two for tables: `integer`, `duration`.
    package let type: String

    /// Completes "expected …": bounds and an example.
    package let expected: String

    let read: @Sendable (SettingInput) throws(SettingMismatch) -> Value

    /// The canonical text of a value, which reads back as the same value.
    let render: @Sendable (Value) -> String

    package init(
        type: String,
        expected: String,
        read: @escaping @Sendable (SettingInput) throws(SettingMismatch) -> Value,
        render: @escaping @Sendable (Value) -> String
    ) {
        self.type = type
        self.expected = expected
        self.read = read
        self.render = render
    }

    /// The same kind for a setting that may be absent.
    var orNothing: SettingKind<Value?> {
        SettingKind<Value?>(
            type: type,
            expected: expected,
            read: { [read] input throws(SettingMismatch) in try read(input) },
            render: { [render] value in value.map(render) ?? "" }
        )
    }
}
