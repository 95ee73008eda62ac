/// SQL text and its parameters.
///
/// The text is prepared once per connection and cached by itself, so it has to be constant: a value
/// belongs into `parameters`.
package struct PostgresStatement: Sendable {
    package let sql: String
    package let parameters: [PostgresValue]

    package init(_ sql: String, _ parameters: [PostgresValue] = []) {
        self.sql = sql
        self.parameters = parameters
    }
}
