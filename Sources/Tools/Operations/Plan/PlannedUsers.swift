import AppStore
import Commands
import JSON
import Postgres
import Settings
import Store

/// The numbers of links, claims and tokens that forgetting a user would remove.
struct PlannedForgetting: JSONRepresentable {
    private let userID: Identifier
    private let removed: PlanTables.Forgotten
    let isKnown: Bool

    /// Removes what names the user in the session's own tables.
    init(of userID: Identifier, on connection: PostgresConnection) async throws {
        self.userID = userID
        isKnown = try await ForgottenUserTable.isKnown(userID, on: connection)
        removed = try await connection.run(PlanTables.forget, userID)[0]
    }

    var phrase: String {
        guard isKnown else { return "nothing is known of \(userID)" }
        let counts = [(removed.links, "link"), (removed.claims, "claim"), (removed.tokens, "token")]
        return counts.map { Quantity.counted($0, $1) }.joined(separator: ", ") + " of \(userID) would be removed"
    }

    var json: JSONContent {
        [
            "user_id": userID, "is_known": isKnown, "links": removed.links, "claims": removed.claims,
            "tokens": removed.tokens,
        ]
    }
}

/// The user of `--user`, the only one in the samples.
struct SampledUser: JSONRepresentable {
    private let userID: Identifier
    /// Whether anything is stored about the user; `nil` if the role may not ask.
    private let isKnown: Bool?
    private let hasSamples: Bool

    init(of userID: Identifier, in samples: [PlannedSample], on connection: PostgresConnection) async throws {
        self.userID = userID
        hasSamples = !samples.isEmpty
        do { isKnown = hasSamples ? true : try await ForgottenUserTable.isKnown(userID, on: connection) } catch let
            error as PostgresError where error.sqlState == .insufficientPrivilege
        { isKnown = nil }
    }

    /// The reason for no samples.
    ///
    /// `nil` if there are samples.
    var phrase: String? {
        guard !hasSamples else { return nil }
        if isKnown == false { return "nothing is known of \(userID)" }
        return "no access of \(userID) would change at these instants"
    }

    var json: JSONContent { ["user_id": userID, "is_known": isKnown] }
}
