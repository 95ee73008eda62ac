import AppStore
import JSON
import Settings
import Store

/// A line in a file of links.
///
/// A line is `kind,key,user,environment,bundle`, of which the last two may be missing, or a JSON
/// object with `kind`, `key`, `user`, `environment` and `bundle`. A first line that begins with
/// `kind,` is a heading and is skipped.
enum LinkLine {
    /// An error for a line that is no link.
    struct Fault: Error, Hashable { let expected: String }

    /// Parses one line.
    ///
    /// Returns `nil` for a blank line and for the heading.
    ///
    /// - Parameters:
    ///   - isUserRequired: whether the line must name a user; false for links to remove.
    ///   - scope: the scope of a line that names no environment or app.
    static func parse(_ line: [UInt8], isFirst: Bool, isUserRequired: Bool, scope: Scope = ("", "")) throws(Fault)
        -> AccountLink?
    {
        let mark = isFirst && line.starts(with: byteOrderMark) ? byteOrderMark.count : 0
        guard let text = String(validating: line.dropFirst(mark), as: UTF8.self) else { throw Fault(expected: "UTF-8") }
        let trimmed = text.trimmingBlanks
        if trimmed.isEmpty || isFirst && trimmed.hasPrefix("kind,") { return nil }
        var fields = trimmed.hasPrefix("{") ? try object(trimmed) : try row(trimmed)
        if fields.environment.isEmpty { fields.environment = scope.environment }
        if fields.bundle.isEmpty { fields.bundle = scope.bundle }
        guard let kind = LinkKind(spelling: fields.kind) else {
            throw Fault(expected: "a kind, one of \(LinkKind.spellings)")
        }
        return try link(kind, fields, isUserRequired: isUserRequired)
    }

    static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Makes a link of texts that the table's constraint accepts and that a purchase could match.
    static func link(_ kind: LinkKind, _ fields: Fields, isUserRequired: Bool) throws(Fault) -> AccountLink {
        func identifier(_ text: String, _ name: String, isRequired: Bool) throws(Fault) -> Identifier {
            if text.isEmpty && !isRequired { return "" }
            guard let identifier = Identifier(entering: text) else {
                throw Fault(expected: "for the \(name) \(Identifier.entryRule)")
            }
            return identifier
        }
        let (_, key, user, environment, bundle) = fields
        guard environment.isEmpty || AppleEnvironment(rawValue: environment) != nil else {
            throw Fault(expected: "one of \(AppleEnvironment.names) as environment")
        }
        let known = try identifier(key, "key", isRequired: true)
        guard kind != .accountToken || !AccountToken.isPlaceholder(key) else {
            throw Fault(expected: "an account token; the nil UUID stands for none")
        }
        // A link to remove may have entered the table without this check.
        if isUserRequired { try check(key, of: kind) }
        return AccountLink(
            kind: kind, key: known, environment: environment,
            bundleID: try identifier(bundle, "bundle", isRequired: false),
            userID: try identifier(user, "user", isRequired: isUserRequired))
    }

    /// Throws for a key that no purchase can have.
    ///
    /// A spreadsheet turns a long number into 2.00000E+15, and some databases print a UUID in
    /// braces or without hyphens.
    static func check(_ key: String, of kind: LinkKind) throws(Fault) {
        switch kind {
        case .accountToken:
            guard AccountToken(key) != nil else {
                throw Fault(expected: "a UUID of the form 8-4-4-4-12 as account token")
            }
        case .appTransactionID, .originalTransactionID:
            guard key.utf8.allSatisfy(isOfTransactionID) else {
                throw Fault(expected: "an ID of digits, letters, hyphens and underscores")
            }
        }
    }

    private static func isOfTransactionID(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// The environment and the app for which a link is valid; empty for any.
    typealias Scope = (environment: String, bundle: String)

    typealias Fields = (kind: String, key: String, user: String, environment: String, bundle: String)

    private static func object(_ text: String) throws(Fault) -> Fields {
        guard let root = try? JSONDocument(parsing: Array(text.utf8)).root else {
            throw Fault(expected: "a JSON object")
        }
        let known = ["kind", "key", "user", "environment", "bundle"]
        for (key, value) in root.members {
            guard let name = key.string, known.contains(name) else {
                throw Fault(expected: "only the members \(known.joined(separator: ", "))")
            }
            guard value.string != nil || value.isNull else { throw Fault(expected: "a string as \(name)") }
        }
        func member(_ key: String) -> String { root[key]?.string ?? "" }
        return (member("kind"), member("key"), member("user"), member("environment"), member("bundle"))
    }

    private static func row(_ text: String) throws(Fault) -> Fields {
        guard let fields = try SeparatedRow.fields(of: Array(text.utf8)) else {
            throw Fault(expected: "a closing quotation mark")
        }
        guard (2...5).contains(fields.count) else { throw Fault(expected: "kind,key,user[,environment,bundle]") }
        let padded = fields + Array(repeating: "", count: 5 - fields.count)
        return (padded[0], padded[1], padded[2], padded[3], padded[4])
    }
}

extension LinkKind {
    /// Accepts a kind's name with underscores or dashes.
    init?(spelling text: String) { self.init(rawValue: text.split(separator: "-").joined(separator: "_")) }

    static let spellings = allCases.map(\.rawValue).joined(separator: ", ")
}
