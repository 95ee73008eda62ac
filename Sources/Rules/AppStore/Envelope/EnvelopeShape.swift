import JSON

/// The shapes of a JSON body, each recognised by a field that only it has.
enum EnvelopeShape: CaseIterable {
    /// The body of App Store Server Notifications V2.
    case signedPayload
    /// The app's own request, with unsigned claims.
    case signedTransaction
    /// A response with transaction history, order look-up or refund history.
    case signedTransactions
    /// A transaction, a renewal info, or both as a pair.
    case transactionInfo
    case appTransactionInfo
    case statuses
    case notificationHistory
    case receipt

    /// Reads the parts of a body's object.
    static func read(_ root: JSONValue, itemsMax: Int) throws(Fault) -> Envelope {
        guard root.kind == .object else { throw Fault(.bodyUnrecognized, "the body is not a JSON object") }
        let body = KnownMembers(of: root, named: table)
        guard itemsCount(body) <= itemsMax else {
            throw Fault(.payloadTooLarge, "the body holds more than \(itemsMax) items")
        }
        let shapes = allCases.filter { $0.isPresent(in: body) }
        guard shapes.count < 2 else { throw Fault(.bodyUnrecognized, "the body has the fields of two shapes") }
        guard let shape = shapes.first, var envelope = try shape.envelope(body, root) else {
            throw Fault(.bodyUnrecognized, "the body has no known shape")
        }
        envelope.isResponse = shape.isResponse
        return envelope
    }

    /// Whether the shape is a response of Apple's API.
    private var isResponse: Bool {
        switch self {
        case .signedPayload, .signedTransaction, .receipt: false
        case .signedTransactions, .transactionInfo, .appTransactionInfo, .statuses, .notificationHistory: true
        }
    }

    private typealias Members = KnownMembers<Field>

    /// The members that identify a shape, or that contain its items.
    private enum Field: String, PayloadField {
        case signedPayload, signedTransaction, signedTransactions, signedTransactionInfo
        case signedRenewalInfo, signedAppTransactionInfo, data, notificationHistory
        case receiptData = "receipt-data"
    }

    private static let table = FieldTable<Field>()

    private func isPresent(in body: Members) -> Bool {
        switch self {
        case .signedPayload: body.has(.signedPayload)
        case .signedTransaction: body.has(.signedTransaction)
        case .signedTransactions: body.has(.signedTransactions)
        case .transactionInfo: body.has(.signedTransactionInfo) || body.has(.signedRenewalInfo)
        case .appTransactionInfo: body.has(.signedAppTransactionInfo)
        case .statuses: body[.data]?.kind == .array
        case .notificationHistory: body.has(.notificationHistory)
        case .receipt: body.has(.receiptData)
        }
    }

    private static func itemsCount(_ body: Members) -> Int {
        let statuses = body[.data]?.elements.reduce(0) { count, group in
            count + 1 + (group["lastTransactions"]?.count ?? 0)
        }
        return (statuses ?? 0) + (body[.signedTransactions]?.count ?? 0) + (body[.notificationHistory]?.count ?? 0)
    }

    /// Reads the parts of a body that has this shape.
    ///
    /// `nil` if the shape's field has another JSON type.
    private func envelope(_ body: Members, _ root: JSONValue) throws(Fault) -> Envelope? {
        switch self {
        case .signedPayload: Self.single(body[.signedPayload], .notification, in: root)
        case .signedTransaction: try Self.claiming(body[.signedTransaction], root)
        case .appTransactionInfo: Self.single(body[.signedAppTransactionInfo], .appTransaction, in: root)
        case .transactionInfo: Self.pair(root).map { Envelope(items: [$0]) }
        case .signedTransactions: try Self.transactions(body[.signedTransactions], root)
        case .statuses: try Self.statuses(body[.data], root)
        case .notificationHistory: try Self.notifications(body[.notificationHistory], root)
        case .receipt: try Self.receipt(body[.receiptData], root)
        }
    }

    private static func claiming(_ value: JSONValue?, _ root: JSONValue) throws(Fault) -> Envelope? {
        let claims = UnsignedClaim.all(in: root)
        try ClaimForm.check(claims)
        return value.flatMap(Token.init).map { token in
            Envelope(
                items: [EnvelopeItem(token, .transaction)], claims: claims, clientClaims: ObservationClaims(claims))
        }
    }

    private static func single(_ value: JSONValue?, _ kind: PayloadKind, in root: JSONValue) -> Envelope? {
        value.flatMap(Token.init).map { token in
            Envelope(items: [EnvelopeItem(token, kind)], claims: UnsignedClaim.all(in: root))
        }
    }

    /// Returns a transaction and its renewal info, in the order of the text.
    ///
    /// `nil` if both are missing, or if one is not a string.
    private static func pair(_ object: JSONValue) -> EnvelopeItem? {
        var tokens: [(token: Token, kind: PayloadKind?)] = []
        for (key, value) in object.members where !value.isNull {
            let isTransaction = key.isString("signedTransactionInfo")
            guard isTransaction || key.isString("signedRenewalInfo") else { continue }
            guard let token = Token(value) else { return nil }
            tokens.append((token, isTransaction ? .transaction : .renewalInfo))
        }
        return tokens.isEmpty ? nil : EnvelopeItem(tokens: tokens, claims: UnsignedClaim.all(in: object))
    }

    private static func transactions(_ list: JSONValue?, _ root: JSONValue) throws(Fault) -> Envelope? {
        guard let list, list.kind == .array else { return nil }
        var items: [EnvelopeItem] = []
        for element in list.elements {
            guard let token = Token(element) else {
                throw Fault(.envelopeMalformed, "an element of signedTransactions is not a string")
            }
            items.append(EnvelopeItem(token, .transaction))
        }
        return Envelope(items: items, claims: UnsignedClaim.all(in: root))
    }

    private static func statuses(_ groups: JSONValue?, _ root: JSONValue) throws(Fault) -> Envelope? {
        var items: [EnvelopeItem] = []
        for group in groups.map({ Array($0.elements) }) ?? [] {
            guard let list = group["lastTransactions"], list.kind == .array else { return nil }
            for element in list.elements {
                guard let item = pair(element) else {
                    throw Fault(.envelopeMalformed, "an element of lastTransactions has no JWS")
                }
                items.append(item)
            }
        }
        return Envelope(items: items, claims: UnsignedClaim.all(in: root))
    }

    private static func notifications(_ list: JSONValue?, _ root: JSONValue) throws(Fault) -> Envelope? {
        guard let list, list.kind == .array else { return nil }
        var items: [EnvelopeItem] = []
        for element in list.elements {
            guard let token = element["signedPayload"].flatMap(Token.init) else {
                throw Fault(.envelopeMalformed, "an element of notificationHistory has no JWS")
            }
            let item = [(token: token, kind: PayloadKind?.some(.notification))]
            items.append(EnvelopeItem(tokens: item, claims: UnsignedClaim.all(in: element)))
        }
        return Envelope(items: items, claims: UnsignedClaim.all(in: root))
    }

    /// Omits claims beside a receipt: each claim names one of many purchases.
    private static func receipt(_ value: JSONValue?, _ root: JSONValue) throws(Fault) -> Envelope? {
        guard let text = value?.stringBytes else { return nil }
        let claims = UnsignedClaim.all(in: root)
        try ClaimForm.check(claims)
        return Envelope(items: [], receipt: ReceiptText(text[...]), claims: claims)
    }
}
