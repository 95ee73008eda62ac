/// SQL text and its parameters.
///
/// The text is prepared once per connection and cached by itself, so it has to be constant: a value
/// belongs into `parameters`.
package struct PostgresStatement: Sendable {
    package let sql: String
    package let parameters: [PostgresValue]
    let types: [PostgresType]

    package init(_ sql: String, _ parameters: [PostgresValue] = []) {
        self.init(sql, parameters, types: parameters.map(\.type))
    }

    /// - Parameter types: of the parameters, for those that are null too.
    package init(_ sql: String, _ parameters: [PostgresValue], types: [PostgresType]) {
        self.sql = sql
        self.parameters = parameters
        self.types = types
    }
}
