/// SQL text and its parameters.
///
/// Each connection prepares the text once and caches it under the text, so the text must be constant: values belong in
/// `parameters`.
package struct PostgresStatement: Sendable {
    package let sql: String
    package let parameters: [PostgresValue]
    let types: [PostgresType]

    package init(_ sql: String, _ parameters: [PostgresValue] = []) {
        self.init(sql, parameters, types: parameters.map(\.type))
    }

    /// - Parameter types: the types of all parameters, including null parameters.
    package init(_ sql: String, _ parameters: [PostgresValue], types: [PostgresType]) {
        self.sql = sql
        self.parameters = parameters
        self.types = types
    }

    /// Whether the server accepts writes: it is not a standby, and not set to read-only.
    static let isWritable = PostgresStatement("SELECT current_setting('transaction_read_only') = 'off'")
}

/// The statements that one connection has prepared, and their names.
///
/// The number of statements is bounded: a new name replaces the least recently used one. The types of the parameters
/// are part of the key, because the server fixes them when it prepares the statement.
struct PreparedStatements {
    struct Key: Hashable {
        let sql: String
        let types: [PostgresType]
    }

    private struct Entry {
        let name: String
        var lastUse: UInt64
    }

    private let countMax: Int
    private var entries: [Key: Entry] = [:]
    private var uses: UInt64 = 0
    /// A random prefix, so that no statement of another client has a name of this connection.
    private let prefix = "s" + String(UInt64.random(in: 0...UInt64.max), radix: 36) + "_"
    private var namesGiven = 0

    init(countMax: Int) {
        precondition(countMax > 0, "preparedStatementsMax is at least 1")
        self.countMax = countMax
    }

    mutating func name(of key: Key) -> String? {
        uses += 1
        entries[key]?.lastUse = uses
        return entries[key]?.name
    }

    /// Returns a name that no connection has used before.
    mutating func newName() -> String {
        namesGiven += 1
        return prefix + "\(namesGiven)"
    }

    mutating func insert(_ key: Key, name: String) {
        uses += 1
        entries[key] = Entry(name: name, lastUse: uses)
    }

    /// Removes the least recently used statements beyond `countMax`; the caller deallocates them on the server.
    mutating func removeExcess() -> [String] {
        let excess = entries.count - countMax
        guard excess > 0 else { return [] }
        let oldest = entries.sorted { $0.value.lastUse < $1.value.lastUse }.prefix(excess)
        for (key, _) in oldest { entries[key] = nil }
        return oldest.map(\.value.name)
    }
}
