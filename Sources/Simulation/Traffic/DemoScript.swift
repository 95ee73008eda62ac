import AppStore
import OpenSSL

/// Writes the demo's records, one customer's history after the other.
struct DemoScript {
    static let day: Int64 = 86_400_000

    let authority: CertificateAuthority
    let receiptAuthority: CertificateAuthority
    let impostors: DemoImpostors
    /// Whole seconds, in milliseconds.
    let now: Int64
    var generator: SeededGenerator
    var items: [DemoItem] = []
    var users: [DemoUser] = []
    var links: [DemoLink] = []
    /// The last state of purchases, which Apple may sign again at any time.
    var settled: [TransactionFields] = []
    private var lastTransactionID: Int64 = 2_000_000_000_000_000
    private var correlationCount = 0

    init(seed: UInt64, now: Int64) throws(KeyError) {
        let blueprint = try AuthorityBlueprint(
            name: "Demo",
            validity: CertificateAuthority.standardValidity
        )
        try self.init(
            seed: seed,
            now: now,
            signers: DemoSigners(
                jws: CertificateAuthority(blueprint),
                receipts: CertificateAuthority(.receipts(name: "Demo"))
            ),
            impostors: DemoImpostors(of: blueprint)
        )
    }

    init(seed: UInt64, now: Int64, signers: DemoSigners, impostors: DemoImpostors) {
        self.now = now / 1_000 * 1_000
        generator = SeededGenerator(seed: seed)
        authority = signers.jws
        receiptAuthority = signers.receipts
        self.impostors = impostors
    }

    /// Begins with other transaction IDs than any other run.
    mutating func drawTransactionIDs() {
        lastTransactionID += Int64.random(in: 1...9_000_000, using: &generator) * 100_000_000
    }

    /// Histories until four fifths are written, then defects, then repetitions up to the count.
    mutating func write(bodyCount: Int) throws(KeyError) {
        try writeOneOfEachLife()
        while items.count < bodyCount * 4 / 5 {
            try writeLife(.random(in: 0..<100, using: &generator))
        }
        try writeDefects(count: bodyCount / 12)
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
    mutating func linkedCustomer(of app: DemoApp) -> Int {
        let token = generator.uuid()
        let user = DemoUser(userID: "customer-\(users.count)", accountToken: token)
        users.append(user)
        links.append(DemoLink(kind: .accountToken, app: app, value: token, userID: user.userID))
        return users.count - 1
    }

    /// Publishes what an app posts: it waits for an answer, so there is a correlation ID.
    mutating func post(_ value: [UInt8], as kind: DemoKind, bundleID: String?) {
        correlationCount += 1
        let trace = String(generator.next() | 1 << 63, radix: 16)
        let headers = [
            DemoItem.Header(
                name: "correlation-id",
                value: Array("demo-\(correlationCount)".utf8)
            ),
            DemoItem.Header(
                name: "traceparent",
                value: Array("00-\(trace)\(trace)-\(trace)-01".utf8)
            ),
        ]
        publish(value, as: kind, key: bundleID.map { Array($0.utf8) }, headers: headers)
    }

    mutating func publish(
        _ value: [UInt8]?,
        as kind: DemoKind,
        key: [UInt8]? = nil,
        headers: [DemoItem.Header] = [],
        refusal: RefusalReason? = nil
    ) {
        items.append(
            DemoItem(
                kind: kind,
                key: key,
                value: value,
                headers: headers,
                expectedRefusal: refusal
            )
        )
    }
}

extension DemoScript {
    /// Signs settled states again: the same content with a newer date, which changes nothing.
    mutating func writeResigned(count: Int) throws(KeyError) {
        for _ in 0..<count {
            guard let index = settled.indices.randomElement(using: &generator) else { return }
            settled[index].signedDate = now - Int64.random(in: 0..<Self.day, using: &generator)
            publish(
                Body.transactionInfo(try authority.sign(settled[index].json)),
                as: .resigned
            )
        }
    }

    /// Publishes genuine records again, byte for byte.
    mutating func writeRepetitions(count: Int) {
        let genuine = items.filter { $0.expectedRefusal == nil && $0.kind != .emptyResponse }
        for _ in 0..<max(0, count) {
            guard let item = genuine.randomElement(using: &generator) else { return }
            let isNotification = item.headers.isEmpty && item.key != nil
            publish(
                item.value,
                as: isNotification ? .retried : .duplicate,
                key: item.key,
                headers: item.headers
            )
        }
    }
}
