import AppStore
import Entitlements
import Store

/// An app in an environment; links are looked up for this pair.
struct AppScope: Hashable {
    let environment: Environment
    let bundleID: Identifier
}

extension PurchaseKey { var app: AppScope { AppScope(environment: environment, bundleID: bundleID) } }

extension AppTransactionGroup { var app: AppScope { AppScope(environment: environment, bundleID: bundleID) } }

/// The links to read for the purchases of a batch, each once.
struct LinkQuestions {
    enum Name: Hashable {
        case token(AccountToken)
        case appTransactionID(Identifier)
        case originalTransactionID(Identifier)
    }

    private struct Question: Hashable {
        let app: AppScope
        let name: Name
    }

    private var asked: Set<Question> = []
    private var questions: [Question] = []

    init(expected: Int) {
        asked.reserveCapacity(expected)
        questions.reserveCapacity(expected)
    }

    mutating func ask(_ name: Name, in app: AppScope) {
        let question = Question(app: app, name: name)
        if asked.insert(question).inserted { questions.append(question) }
    }

    /// Adds all links that may name the owner of a purchase.
    ///
    /// - Parameter tokensAreUserIDs: whether account tokens are user IDs; then no links of tokens are added.
    mutating func ask(about facts: OwnershipFacts, in app: AppScope, tokensAreUserIDs: Bool) {
        ask(.originalTransactionID(facts.originalTransactionID), in: app)
        if let id = facts.appTransactionID { ask(.appTransactionID(id), in: app) }
        guard !tokensAreUserIDs else { return }
        for transaction in facts.transactions { if let token = transaction.token { ask(.token(token), in: app) } }
        if let token = facts.renewalToken { ask(.token(token), in: app) }
    }

    /// The questions as parameters of the statement.
    var rows: [AccountLinkTable.Question] {
        questions.map { question in
            let (kind, key): (LinkKind, Identifier) =
                switch question.name {
                case .token(let token): (.accountToken, Identifier(token.canonical))
                case .appTransactionID(let id): (.appTransactionID, id)
                case .originalTransactionID(let id): (.originalTransactionID, id)
                }
            return (kind: kind, environment: question.app.environment, bundleID: question.app.bundleID, key: key)
        }
    }

    /// - Parameter found: the answers to `rows`.
    func links(_ found: some Sequence<AccountLinkTable.Found>) -> [AppScope: AccountLinks] {
        var links: [AppScope: AccountLinks] = [:]
        for found in found {
            let question = questions[found.index]
            switch question.name {
            case .token(let token): links[question.app, default: AccountLinks()].userByToken[token] = found.userID
            case .appTransactionID(let id):
                links[question.app, default: AccountLinks()].userByAppTransactionID[id] = found.userID
            case .originalTransactionID(let id):
                links[question.app, default: AccountLinks()].userByOriginalTransactionID[id] = found.userID
            }
        }
        return links
    }
}

extension AccountLinks {
    mutating func merge(_ other: AccountLinks) {
        userByToken.merge(other.userByToken) { $1 }
        userByAppTransactionID.merge(other.userByAppTransactionID) { $1 }
        userByOriginalTransactionID.merge(other.userByOriginalTransactionID) { $1 }
    }
}
