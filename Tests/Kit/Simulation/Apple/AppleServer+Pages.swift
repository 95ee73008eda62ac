import HTTP
import JSON
import Synchronization

extension AppleServer {
    /// Answers a request whose token is good from the world.
    ///
    /// - Throws: an `AppleError`, or the failure of a signature.
    func page(_ request: HTTPRequest, _ seen: AppleRequest, bundleID: String, fault: AppleFault?) throws -> HTTPResponse
    {
        switch seen.endpoint {
        case .notificationHistory: return try notifications(request, seen, bundleID: bundleID, fault: fault)
        case .subscriptionStatuses: return try statuses(of: purchase(seen.id, bundleID))
        case .transactionHistory:
            guard ["ASCENDING", nil].contains(request.query["sort"]) else { throw AppleError.invalidSort }
            let all = try purchase(seen.id, bundleID)
            return try transactionPage(all, request, bundleID: bundleID, fault: fault)
        case .refundHistory:
            let revoked = try purchase(seen.id, bundleID).filter(\.isRevoked)
            return try transactionPage(revoked, request, bundleID: bundleID, fault: fault)
        case .orderLookup: return order(seen.id, bundleID)
        case .finish:
            _ = try purchase(seen.id, bundleID)
            world.state.withLock { $0.finished.append(seen.id) }
            return HTTPResponse()
        case .accountToken:
            let transactions = try purchase(seen.id, bundleID)
            let token = try? JSONDocument(parsing: request.body).root["appAccountToken"]?.string
            try world.setAccountToken(token ?? "", of: transactions, id: seen.id, at: seen.time)
            return HTTPResponse()
        case .consumption, .consumptionV1:
            let purchase = try purchase(seen.id, bundleID).first { $0.id == seen.id }
            let payload = purchase.flatMap { UnverifiedJWS($0.jws)?.payload }
            try ConsumptionRequest.check(request.body, isFirstVersion: seen.endpoint == .consumptionV1, of: payload)
            try world.requireInTime(seen.id, at: seen.time)
            try world.take(refundAnswer: request.body, of: seen.id, at: seen.time)
            return HTTPResponse(status: 202)
        }
    }

    /// The transactions of the purchase that a transaction belongs to, the last changed one last.
    private func purchase(_ transactionID: String, _ bundleID: String) throws(AppleError) -> [AppleWorld.Transaction] {
        guard !transactionID.isEmpty, transactionID.utf8.allSatisfy({ (48...57).contains($0) }) else {
            throw .invalidTransactionID
        }
        let transactions = world.state.withLock { state in
            state.originals[transactionID].flatMap { state.purchases[$0] } ?? []
        }
        guard let first = transactions.first, first.bundleID == bundleID, first.environment == environment else {
            throw .transactionNotFound
        }
        return transactions
    }

    private func notifications(_ request: HTTPRequest, _ seen: AppleRequest, bundleID: String, fault: AppleFault?)
        throws -> HTTPResponse
    {
        let query = try NotificationQuery(request.body, environment: environment, now: seen.time)
        var start = NotificationPosition()
        var given: String?
        if case .nextToken(let token) = fault {
            given = token
        } else {
            start = try position(request.query["paginationToken"], query, at: seen.time)
        }
        var (items, next) = world.page(
            of: query, from: start, bundleID: bundleID, environment: environment, now: seen.time)
        switch fault {
        case .emptyPage: (items, next) = ([], start)
        case .foreignItem: items.insert(stranger("TEST", "com.example.foreign", seen.time), at: 0)
        case .unknownKind: items.insert(stranger("TIDE_TURNED", bundleID, seen.time), at: 0)
        default: break
        }
        var entries = try items.map { try $0.json() }
        if case .unreadableEntry = fault { entries.insert([:], at: 0) }
        let page: JSONContent = ["hasMore": next != nil || given != nil, "notificationHistory": entries]
        let issued = next.map { PaginationToken($0, of: query, issued: seen.time).text }
        guard let token = given ?? issued else { return .json(page.bytes) }
        return .json((["paginationToken": token] + page).bytes)
    }

    private func position(_ token: String?, _ query: NotificationQuery, at now: Int64) throws(AppleError)
        -> NotificationPosition
    {
        guard let token else { return NotificationPosition() }
        guard let known = PaginationToken(text: token), known.query == "\(query)" else { throw .invalidPaginationToken }
        guard now < known.issued + Int64(tokenLifetime / .milliseconds(1)) else { throw .paginationTokenExpired }
        return known.position
    }

    /// A notification that is in no world, delivered at once.
    private func stranger(_ type: String, _ bundleID: String, _ now: Int64) -> AppleWorld.Listed {
        var generator = SeededGenerator(seed: UInt64(bitPattern: now))
        var data = NotificationDataFields()
        data.bundleID = bundleID
        data.environment = environment
        var fields = NotificationFields()
        fields.notificationType = type
        fields.notificationUUID = generator.uuid()
        fields.signedDate = now
        fields.data = data.json
        let (authority, payload) = (world.authority, fields.json)
        let notification = AppleNotification(
            uuid: fields.notificationUUID ?? "", bundleID: bundleID, environment: environment, signedDate: now,
            failure: nil
        ) { try authority.sign(payload) }
        return AppleWorld.Listed(notification: notification, attempts: notification.attempts(until: now))
    }

    private func statuses(of transactions: [AppleWorld.Transaction]) -> HTTPResponse {
        guard let newest = transactions.last, let renewal = world.state.withLock({ $0.renewals[newest.originalID] })
        else { return .json(Array(#"{"data":[]}"#.utf8)) }
        return .json(
            Body.subscriptionStatuses(
                environment: environment, bundleID: newest.bundleID, originalTransactionID: newest.originalID,
                transaction: newest.jws, renewal: renewal.jws, status: Int(renewal.status)))
    }

    /// The changes after a revision, in their order: a transaction that has changed between two
    /// pages comes again.
    private func transactionPage(
        _ transactions: [AppleWorld.Transaction], _ request: HTTPRequest, bundleID: String, fault: AppleFault?
    ) throws -> HTTPResponse {
        let revision = request.query["revision"] ?? "0"
        guard let changes = Int(revision) else { throw AppleError.invalidRevision }
        var start = transactions.firstIndex { $0.change > changes } ?? transactions.count
        if case .repeatedItem = fault { start = max(0, start - 1) }
        var countMax = AppleWorld.pageItemsMax
        if case .emptyPage = fault { countMax = 0 }
        let page = transactions[start...].prefix(countMax)
        var signed = page.map(\.jws)
        if case .foreignItem = fault {
            var fields = TransactionFields()
            fields.bundleID = "com.example.foreign"
            fields.environment = environment
            signed.insert(try world.authority.sign(fields.json), at: 0)
        }
        var next = "\(page.last?.change ?? changes)"
        var hasMore = page.endIndex < transactions.endIndex
        if case .nextToken(let token) = fault { (next, hasMore) = (token, true) }
        return .json(
            Body.history(
                signed,
                members: [
                    "revision": "\"\(next)\"", "hasMore": "\(hasMore)", "bundleId": "\"\(bundleID)\"",
                    "environment": "\"\(environment)\"",
                ]))
    }

    /// Status 0 with the order's transactions, or 1 for an order that nobody knows.
    private func order(_ orderID: String, _ bundleID: String) -> HTTPResponse {
        let id = String(orderID.dropFirst())
        let transactions = orderID.hasPrefix("M") ? (try? purchase(id, bundleID)) ?? [] : []
        let signed = transactions.filter { $0.id == id }.map(\.jws)
        return .json(Body.history(signed, members: ["status": signed.isEmpty ? "1" : "0"]))
    }
}

extension AppleWorld.Listed {
    fileprivate func json() throws -> JSONContent {
        let sent = attempts.map { attempt -> JSONContent in
            ["attemptDate": attempt.date, "sendAttemptResult": attempt.result.rawValue]
        }
        let jws = String(decoding: try notification.jws(), as: UTF8.self)
        return ["signedPayload": jws, "sendAttempts": sent]
    }
}
