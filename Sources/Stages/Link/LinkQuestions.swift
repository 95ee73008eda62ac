import AppStore
import Entitlements
import Postgres

/// Which links concern the purchases at hand; each is asked for once.
struct LinkQuestions {
    enum Name: Hashable {
        case token(AccountToken)
        case appTransactionID(String)
        case originalTransactionID(String)
    }

    private struct Question: Hashable {
        let app: AppScope
        let name: Name
    }

    private var asked: Set<Question> = []
    private var questions: [Question] = []

    mutating func ask(_ name: Name, in app: AppScope) {
        let question = Question(app: app, name: name)
        if asked.insert(question).inserted {
            questions.append(question)
        }
    }

    /// Asks for all that may name the owner of a purchase.
    ///
    /// - Parameter tokensAreUserIDs: no link of a token is asked for then.
    mutating func ask(about facts: OwnershipFacts, in app: AppScope, tokensAreUserIDs: Bool) {
        ask(.originalTransactionID(facts.originalTransactionID), in: app)
        if let id = facts.appTransactionID {
            ask(.appTransactionID(id), in: app)
        }
        guard !tokensAreUserIDs else { return }
        for token in facts.transactions.compactMap(\.token) {
            ask(.token(token), in: app)
        }
        if let token = facts.renewalToken {
            ask(.token(token), in: app)
        }
    }

    var statement: PostgresStatement {
        var places = PostgresArray(of: .int8)
        var kinds = PostgresArray(of: .text)
        var environments = PostgresArray(of: .text)
        var bundleIDs = PostgresArray(of: .text)
        var keys = PostgresArray(of: .text)
        for (place, question) in questions.enumerated() {
            places.append(Int64(place))
            environments.append(question.app.environment.rawValue)
            bundleIDs.append(question.app.bundleID)
            switch question.name {
            case .token(let token):
                kinds.append("account_token")
                keys.append(token.canonical)
            case .appTransactionID(let id):
                kinds.append("app_transaction_id")
                keys.append(id)
            case .originalTransactionID(let id):
                kinds.append("original_transaction_id")
                keys.append(id)
            }
        }
        let columns = [places, kinds, environments, bundleIDs, keys]
        return PostgresStatement(Self.readLinks, columns.map { .array($0) })
    }

    /// A link that names environment and app counts before one that leaves them open.
    private static let readLinks = """
        SELECT asked.place, known.user_id
        FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[])
             AS asked (place, kind, environment, bundle_id, key)
        CROSS JOIN LATERAL (
            SELECT link.user_id FROM account_links AS link
            WHERE link.key = asked.key AND link.kind = asked.kind
              AND link.environment IN (asked.environment, '')
              AND link.bundle_id IN (asked.bundle_id, '')
            ORDER BY link.environment = '', link.bundle_id = ''
            LIMIT 1
        ) AS known
        """

    /// - Parameter rows: the answer to `statement`.
    func links(_ rows: PostgresRows) -> [AppScope: AccountLinks] {
        var links: [AppScope: AccountLinks] = [:]
        for row in rows {
            let question = questions[Int(row.int8(0))]
            let userID = row.text(1)
            switch question.name {
            case .token(let token):
                links[question.app, default: AccountLinks()].userByToken[token] = userID
            case .appTransactionID(let id):
                links[question.app, default: AccountLinks()].userByAppTransactionID[id] = userID
            case .originalTransactionID(let id):
                links[question.app, default: AccountLinks()]
                    .userByOriginalTransactionID[id] = userID
            }
        }
        return links
    }
}
