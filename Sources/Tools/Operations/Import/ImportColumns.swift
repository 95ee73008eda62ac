import Settings

/// The columns of a foreign table that an import reads.
struct ImportColumns {
    enum Role: String, CaseIterable {
        case user
        case originalTransactionID = "original_transaction_id"
        case accountToken = "account_token"
        /// A body of Apple's: a signed transaction or a receipt.
        case body
        case store, environment, sandbox, bundle

        static let names = allCases.map(\.rawValue).joined(separator: ", ")

        /// The other names that need no option, in the order in which a row's values count.
        ///
        /// They include those of RevenueCat's scheduled data exports.
        fileprivate var known: [String] {
            switch self {
            case .user: ["user_id", "app_user_id", "rc_last_seen_app_user_id_alias", "rc_original_app_user_id"]
            case .originalTransactionID: ["original_store_transaction_id"]
            case .accountToken: ["app_account_token"]
            case .body: ["jws", "signed_transaction", "receipt"]
            case .store, .environment: []
            case .sandbox: ["is_sandbox"]
            case .bundle: ["bundle_id"]
            }
        }
    }

    private let places: [Role: [Int]]
    /// Whether `--columns` names the user's column; then even an anonymous user counts.
    private let isUserNamed: Bool
    let separator: UInt8
    let count: Int

    /// - Parameters:
    ///   - line: the first line, which names the columns.
    ///   - given: the argument of `--columns`: `role=name,…`.
    init(_ line: [UInt8], given: String?) throws {
        separator =
            line.contains(UInt8(ascii: ";")) && !line.contains(UInt8(ascii: ","))
            ? UInt8(ascii: ";") : UInt8(ascii: ",")
        guard let names = try SeparatedRow.fields(of: line, by: separator) else {
            throw LinkLine.Fault(expected: "the names of the columns, in one line")
        }
        let chosen = try Self.chosen(given)
        var places: [Role: [Int]] = [:]
        for role in Role.allCases {
            let wanted = chosen[role].map { [$0] } ?? [role.rawValue] + role.known
            let found = wanted.flatMap { name in names.indices.filter { Array(names[$0].utf8) == Array(name.utf8) } }
            if let name = chosen[role], found.count != 1 {
                throw LinkLine.Fault(expected: "one column \"\(name)\", by --columns")
            }
            if !found.isEmpty { places[role] = found }
        }
        guard [.originalTransactionID, .accountToken, .body].contains(where: { places[$0] != nil }) else {
            throw LinkLine.Fault(
                expected: "a column original_transaction_id, account_token or body; --columns names others")
        }
        self.places = places
        isUserNamed = chosen[.user] != nil
        count = names.count
    }

    var hasBodies: Bool { places[.body] != nil }

    static func chosen(_ given: String?) throws(UsageError) -> [Role: String] {
        var chosen: [Role: String] = [:]
        for part in (given ?? "").split(separator: ",") {
            let sides = part.split(separator: "=", maxSplits: 1)
            guard sides.count == 2, let role = Role(rawValue: String(sides[0])), chosen[role] == nil else {
                throw UsageError("--columns: expected NAME=COLUMN once each, with a NAME of \(Role.names)")
            }
            chosen[role] = String(sides[1])
        }
        return chosen
    }

    /// The value of a row's column; empty without one.
    func value(_ role: Role, of row: [String]) -> String {
        for place in places[role] ?? [] where !row[place].isEmpty {
            guard role != .user || isUserNamed || !row[place].hasPrefix(Self.anonymous) else { continue }
            return row[place]
        }
        return ""
    }

    /// The prefix of RevenueCat's IDs for customers who never signed in.
    private static let anonymous = "$RCAnonymousID:"
}
