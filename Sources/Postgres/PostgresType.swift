/// The object identifiers of the built-in types that cross this wrapper (`pg_type.dat`); they are
/// part of PostgreSQL's protocol and never change.
package struct PostgresType: Hashable, Sendable {
    package let oid: UInt32

    init(oid: UInt32) {
        self.oid = oid
    }

    /// The server infers the type from where the parameter stands.
    static let unspecified = PostgresType(oid: 0)
    package static let bool = PostgresType(oid: 16)
    package static let bytea = PostgresType(oid: 17)
    static let name = PostgresType(oid: 19)
    package static let int8 = PostgresType(oid: 20)
    static let int2 = PostgresType(oid: 21)
    static let int4 = PostgresType(oid: 23)
    package static let text = PostgresType(oid: 25)
    static let objectID = PostgresType(oid: 26)
    package static let json = PostgresType(oid: 114)
    package static let float8 = PostgresType(oid: 701)
    static let unknown = PostgresType(oid: 705)
    static let fixedLengthText = PostgresType(oid: 1042)
    static let varchar = PostgresType(oid: 1043)
    package static let timestamptz = PostgresType(oid: 1184)
    package static let periods = PostgresType(oid: 4534)

    /// The type's name in SQL.
    package var sqlName: String {
        guard let name = Self.sqlNames[oid] else {
            preconditionFailure("PostgresType.sqlNames does not know this type")
        }
        return name
    }

    /// The array type over this one.
    package var array: PostgresType {
        guard let arrayType else {
            preconditionFailure("PostgresType.arrayOIDs does not know this type")
        }
        return arrayType
    }

    /// The array type over this one, or nil where the wrapper has no use for it.
    var arrayType: PostgresType? {
        Self.arrayOIDs[oid].map(PostgresType.init(oid:))
    }

    var isInteger: Bool {
        [.int8, .int4, .int2, .objectID].contains(self)
    }

    /// True where the binary form is the text itself; user-defined enums are sent so too.
    var isTextual: Bool {
        let texts: [PostgresType] = [.text, .varchar, .name, .json, .unknown, .fixedLengthText]
        return texts.contains(self) || oid >= Self.firstUserDefined
    }

    private static let firstUserDefined: UInt32 = 16_384

    private static let sqlNames: [UInt32: String] = [
        16: "bool", 17: "bytea", 20: "int8", 25: "text", 114: "json", 701: "float8",
        1184: "timestamptz", 4534: "tstzmultirange",
    ]

    private static let arrayOIDs: [UInt32: UInt32] = [
        16: 1000, 17: 1001, 20: 1016, 25: 1009, 114: 199, 701: 1022, 1184: 1185, 4534: 6153,
    ]
}
