import AppStore
import AppStoreServer
import JSON
import Store
import Telemetry
import Worker

extension AppRecovery {
    private typealias Request = RecoveryRequestTable.Request

    /// Answers the due questions of a kind, several at a time.
    ///
    /// A question that fails is asked again later, after the others.
    ///
    /// Throws if Apple's server cannot be reached, because every other question would fail too.
    func answerRequests(_ kind: RecoveryRequestTable.Kind, _ deliver: @escaping OutboxDelivery) async throws {
        try await SideBySide.work {
            Array(try await client.run(RecoveryRequestTable.due, (app, kind)))
        } _: { request in
            do { try await answer(request, deliver) } catch let failure as APIFailure {
                metrics.failed(failure)
                try await settle(request, failure)
            }
        }
    }

    private func answer(_ request: Request, _ deliver: OutboxDelivery) async throws {
        let id = request.subject.text
        switch request.kind {
        case .finish:
            guard try await client.run(RecoveryRequestTable.awaitOwner, request).isEmpty else { return }
            try await api.finish(id)
            metrics.answered(.finish)
            try await finish(request, .done)
        case .accountToken:
            guard let token = try await client.run(RecoveryRequestTable.tokenToSet, request)[0] else { return }
            try await api.setAccountToken(token, ofPurchase: id)
            metrics.answered(.accountToken)
            try await finish(request, .done)
        case .consumption: try await reply(to: request)
        case .subscriptions: try await publish(try await api.subscriptionStatuses(id), request, by: deliver)
        case .order: try await publish(try await api.lookUp(orderID: id), request, by: deliver)
        case .transactions:
            try await follow(request, by: deliver) { revision in
                try await api.transactionHistory(id, revision: revision)
            }
        case .refunds:
            try await follow(request, by: deliver) { revision in try await api.refundHistory(id, revision: revision) }
        }
    }

    private func publish(_ body: [UInt8], _ request: Request, by deliver: OutboxDelivery) async throws {
        metrics.answered(request.kind.endpoint)
        let count = try await send(body, request, page: 0, by: deliver)
        try await finish(request, count == 0 ? .notFound : .done, published: count)
    }

    /// Reads a history to its end, page by page.
    private func follow(
        _ request: Request, by deliver: OutboxDelivery, _ page: (_ revision: String?) async throws -> TransactionPage
    ) async throws {
        var revision = request.revision
        var number: Int64 = 0
        var trail = PageTrail(plan.pages, from: revision)
        while true {
            let answer = try await page(revision)
            metrics.answered(request.kind.endpoint)
            let count = try await send(answer.body, request, page: number, by: deliver)
            guard answer.hasMore, let next = answer.revision else {
                return try await finish(request, .done, published: count)
            }
            _ = try await client.run(RecoveryRequestTable.advance, (request, next, count))
            switch trail.follow(next) {
            case .readable: (revision, number) = (next, number + 1)
            case .repeated:
                log.warning("revision repeats, asking from the beginning later", logged(request))
                return try await restart(request)
            case .tooLong:
                log.warning("history without an end so far, reading on later", logged(request))
                return try await delay(request)
            }
        }
    }

    /// Publishes an answer, in parts if it is too large for one record.
    ///
    /// - Returns: the number of records.
    private func send(_ body: [UInt8], _ request: Request, page: Int64, by deliver: OutboxDelivery) async throws -> Int
    {
        let records = try RecoveredBody.answer(body, to: request, page: page, topic: plan.rawTopic)
        try await deliver(records)
        metrics.published(request.kind.rawValue, records.count)
        return records.count
    }

    private func finish(_ request: Request, _ result: RecoveryRequestTable.Result, published: Int = 0) async throws {
        _ = try await client.run(RecoveryRequestTable.finish, (request, result, published))
    }

    private func settle(_ request: Request, _ failure: APIFailure) async throws {
        guard !failure.isCancelled else { throw failure }
        switch failure.action {
        case .notFound: try await finish(request, .notFound)
        case .refused:
            let result = RecoveryRequestTable.Result(refusal: failure)
            if result == .refused {
                log.warning("request refused by Apple", logged(request).appending(["error": .string("\(failure)")]))
            }
            try await finish(request, result)
        case .retry(after: nil):
            try await delay(request)
            if failure.httpStatus == nil { throw failure }
        case .restart: try await restart(request)
        case .stop, .retry: throw failure
        }
    }

    /// Schedules a question to be asked again later, from its first page.
    private func restart(_ request: Request) async throws {
        _ = try await client.run(RecoveryRequestTable.advance, (request, nil, 0))
        try await delay(request)
    }

    /// Delays a question's repetition after a fault of Apple's server.
    private func delay(_ request: Request) async throws {
        _ = try await client.run(RecoveryRequestTable.delay, request)
    }

    func logged(_ request: RecoveryRequestTable.Request) -> LogMetadata {
        ["recovery.kind": .string(request.kind.rawValue), "recovery.subject": .string(request.subject.text)]
    }
}

extension RecoveryRequestTable.Result {
    /// The property of the purchase by which Apple refuses it: `FamilyTransactionNotSupportedError` or
    /// `InvalidAssignedTransactionNotSupportedError`.
    fileprivate init(refusal: APIFailure) {
        self =
            switch refusal.errorCode {
            case 4_000_185: .familyShared
            case 4_000_227: .assigned
            default: .refused
            }
    }
}
