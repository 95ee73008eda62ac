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

/// The links to read for the purchases of a batch, each once, and none of a kind that no link has.
struct LinkQuestions {
    enum Name: Hashable {
        case token(AccountToken)
        case appTransactionID(Identifier)
        case originalTransactionID(Identifier)

        var kind: LinkKind {
            switch self {
            case .token: .accountToken
            case .appTransactionID: .appTransactionID
            case .originalTransactionID: .originalTransactionID
            }
        }

        var key: Identifier {
            switch self {
            case .token(let token): Identifier(token.canonical)
            case .appTransactionID(let id), .originalTransactionID(let id): id
            }
        }
    }

    private struct Question: Hashable {
        let app: AppScope
        let name: Name
    }

    private let kinds: Set<LinkKind>
    private var asked: Set<Question> = []
    private var questions: [Question] = []

    init(of kinds: Set<LinkKind>, expected: Int) {
        self.kinds = kinds
        asked.reserveCapacity(expected)
        questions.reserveCapacity(expected)
    }

    mutating func ask(_ name: Name, in app: AppScope) {
        guard kinds.contains(name.kind) else { return }
        let question = Question(app: app, name: name)
        if asked.insert(question).inserted { questions.append(question) }
    }

    /// Adds all links that may name the owner of a purchase.
    mutating func ask(about facts: OwnershipFacts, in app: AppScope) {
        ask(.originalTransactionID(facts.originalTransactionID), in: app)
        if let id = facts.appTransactionID { ask(.appTransactionID(id), in: app) }
        for transaction in facts.transactions { if let token = transaction.token { ask(.token(token), in: app) } }
        if let token = facts.renewalToken { ask(.token(token), in: app) }
    }

    /// The questions as parameters of the statement.
    var rows: [AccountLinkTable.Question] {
        questions.map { question in
            let app = question.app
            return (
                kind: question.name.kind, environment: app.environment, bundleID: app.bundleID, key: question.name.key
            )
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
