import AppStore
import OpenSSL

/// Writes the demo's records, one customer's history after the other.
struct DemoScript {
    static let day: Int64 = 86_400_000

    let authority: CertificateAuthority
    let receiptAuthority: CertificateAuthority
    /// The moment of the traffic, in milliseconds of whole seconds.
    let now: Int64
    var generator: SeededGenerator
    var items: [DemoItem] = []
    var users: [DemoUser] = []
    var links: [DemoLink] = []
    /// The last state of purchases, which Apple may sign again at any time.
    var settled: [TransactionFields] = []
    private var lastTransactionID: Int64 = 2_000_000_000_000_000
    private var correlationCount = 0

    init(seed: UInt64, now: Int64, signers: DemoSigners) {
        self.now = now / 1_000 * 1_000
        generator = SeededGenerator(seed: seed)
        authority = signers.jws
        receiptAuthority = signers.receipts
    }

    /// Begins with other transaction IDs than any other run.
    mutating func drawTransactionIDs() {
        lastTransactionID += Int64.random(in: 1...9_000_000, using: &generator) * 100_000_000
    }

    /// Histories until four fifths are written, then defects, then repetitions up to the count.
    mutating func write(bodyCount: Int, impostors: DemoImpostors) throws(KeyError) {
        try writeOneOfEachLife()
        while items.count < bodyCount * 4 / 5 { try writeLife(.random(in: 0..<100, using: &generator)) }
        try writeDefects(count: bodyCount / 12, impostors)
        try writeResigned(count: bodyCount / 40)
        writeRepetitions(count: bodyCount - items.count)
        items.shuffle(using: &generator)
    }

    mutating func nextTransactionID() -> String {
        lastTransactionID += 1
        return String(lastTransactionID)
    }

    /// A customer whose token is his user ID, sometimes one who was here before.
    mutating func customer() -> Int {
        if !users.isEmpty, Int.random(in: 0..<5, using: &generator) == 0 {
            let known = Int.random(in: users.indices, using: &generator)
            if users[known].accountToken == users[known].userID { return known }
        }
        let token = generator.uuid()
        users.append(DemoUser(userID: token, accountToken: token))
        return users.count - 1
    }

    /// A customer whose token `account_links` maps to a name.
    mutating func linkedCustomer() -> Int {
        let token = generator.uuid()
        let user = DemoUser(userID: "customer-\(users.count)", accountToken: token)
        users.append(user)
        link(.accountToken, token, to: user)
        return users.count - 1
    }

    mutating func link(_ kind: DemoLink.Kind, _ value: String, to user: DemoUser) {
        links.append(DemoLink(kind: kind, app: .pro, value: value, userID: user.userID))
    }

    /// A new purchase, of which nothing is signed yet.
    mutating func buy(
        _ product: DemoProduct, app: DemoApp = .pro, token: String?, appTransactionID: String? = nil, at date: Int64
    ) -> DemoPurchase {
        DemoPurchase(
            product, id: nextTransactionID(), app: app, token: token, appTransactionID: appTransactionID,
            purchaseDate: date)
    }

    /// Publishes what an app posts: it waits for an answer, so there is a correlation ID.
    mutating func post(_ value: [UInt8], as kind: DemoKind, bundleID: String?) {
        correlationCount += 1
        let trace = String(generator.next() | 1 << 63, radix: 16)
        let headers = [
            DemoItem.Header(name: "correlation-id", value: Array("demo-\(correlationCount)".utf8)),
            DemoItem.Header(name: "traceparent", value: Array("00-\(trace)\(trace)-\(trace)-01".utf8)),
        ]
        publish(value, as: kind, key: bundleID.map { Array($0.utf8) }, headers: headers)
    }

    mutating func publish(
        _ value: [UInt8]?, as kind: DemoKind, key: [UInt8]? = nil, headers: [DemoItem.Header] = [],
        refusal: RefusalReason? = nil
    ) { items.append(DemoItem(kind: kind, key: key, value: value, headers: headers, expectedRefusal: refusal)) }
}

extension DemoScript {
    /// Signs settled states again: the same content with a newer date, which changes nothing.
    mutating func writeResigned(count: Int) throws(KeyError) {
        for _ in 0..<count {
            guard let index = settled.indices.randomElement(using: &generator) else { return }
            settled[index].signedDate = now - Int64.random(in: 0..<Self.day, using: &generator)
            publish(Body.transactionInfo(try authority.sign(settled[index].json)), as: .resigned)
        }
    }

    /// Publishes genuine records again, byte for byte.
    mutating func writeRepetitions(count: Int) {
        let genuine = items.filter { $0.expectedRefusal == nil && $0.kind != .emptyResponse }
        for _ in 0..<max(0, count) {
            guard let item = genuine.randomElement(using: &generator) else { return }
            let isNotification = item.headers.isEmpty && item.key != nil
            publish(item.value, as: isNotification ? .retried : .duplicate, key: item.key, headers: item.headers)
        }
    }
}
