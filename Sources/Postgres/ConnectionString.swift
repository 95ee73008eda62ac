import CLibPQ

/// A connection string, taken apart before libpq connects by it.
///
/// A `@`, `/` or `?` that was not escaped in a password makes libpq take a part of the password for
/// the host, the port or the database, and its messages quote these. So a string that reads like
/// that is refused, and of libpq's messages only what may be shown is kept.
struct ConnectionString {
    /// What may be quoted of it: the names of host, database and user, and of libpq's parameters.
    let shown: Set<String>

    /// - Throws: where libpq cannot read it, or would read it otherwise than it is meant; nothing
    ///   of the string is in the error.
    init(_ text: String) throws(PostgresError) {
        guard let values = Self.parse(text), !Self.isEscapeMissing(text) else {
            throw Self.unreadable
        }
        func list(_ name: String) -> [String] {
            (values[name] ?? nil)?.split(separator: ",").map(String.init) ?? []
        }
        guard list("port").allSatisfy({ UInt16($0) != nil }) else { throw Self.unreadable }
        let names = [values["dbname"], values["user"]].compactMap { $0 ?? nil }
        shown = Set(list("host") + names + values.keys)
    }

    private static let unreadable = PostgresError(
        code: .invalidConnectionString,
        message: "the connection string cannot be read; expected"
            + " postgresql://USER:PASSWORD@HOST:PORT/DATABASE, where @, / and ? in user and"
            + " password are written %40, %2F and %3F, or key=value pairs"
    )

    /// In a URL there is one `@`, and only before the host.
    private static func isEscapeMissing(_ text: String) -> Bool {
        guard let scheme = ["postgresql://", "postgres://"].first(where: text.hasPrefix) else {
            return false
        }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
        let authority = rest[..<(end ?? rest.endIndex)]
        let at = UInt8(ascii: "@")
        return authority.count { $0 == at } > 1 || rest[authority.endIndex...].contains(at)
    }

    /// Every parameter of libpq by its name, with its value or nil; nil where it cannot be read.
    private static func parse(_ text: String) -> [String: String?]? {
        guard let parsed = unsafe PQconninfoParse(text, nil) else { return nil }
        defer { unsafe PQconninfoFree(parsed) }
        var values: [String: String?] = [:]
        var next = unsafe parsed
        while let keyword = unsafe next.pointee.keyword {
            let value = unsafe next.pointee.val.map { unsafe String(cString: $0) }
            values.updateValue(value, forKey: unsafe String(cString: keyword))
            unsafe next += 1
        }
        return values
    }
}
