import AppStore
import AppStoreServer
import Derivation
import Entitlements
import JSON
import Postgres
import Settings
import Store
import Telemetry

/// Answers Apple's refund requests, each once, in time and with the customer's consent.
extension AppRecovery {
    private typealias Request = RecoveryRequestTable.Request

    /// Answers a request, ends it without an answer, or lets it wait for facts.
    ///
    /// The answer is stored before it is sent: a copy that continues sends the same words again.
    func reply(to request: RecoveryRequestTable.Request) async throws {
        guard let state = try await client.run(RefundRequestTable.read, request).first, !state.isOver else {
            _ = try await client.run(RecoveryRequestTable.finish, (request, .done, 0))
            return
        }
        let now = Timestamp.now
        guard now < state.deadline else {
            log.error("refund request not answered in time", logged(request))
            return try await end(request, .late)
        }
        let mayWait = now.after(RecoveryPlan.refundReserve) < state.deadline
        switch consent(to: state.purchase) {
        case true?: break
        case nil where mayWait: return try await wait(request)
        default: return try await end(request, .noConsent)
        }
        if let answer = state.answer { return try await send(answer, to: state.transactionID, request) }
        let (evidence, rules) = try await evidence(of: state, request, at: now)
        guard evidence.isDelivered || !mayWait else { return try await wait(request) }
        let answer: RefundAnswer
        if let wanted = state.wanted {
            answer = RefundAnswer(evidence, preference: RefundPreference(rawValue: wanted))
        } else {
            let otherwise = RefundPreference(rawValue: access.replies.preference)
            answer = RefundAnswer(evidence, rules: rules, otherwise: otherwise)
        }
        let stored = try await client.run(
            RefundRequestTable.store,
            (request, state.wanted, JSONText(answer.json), JSONText(evidence.json(state, at: now))))
        // Without a row a person has decided in the meantime, and the request is due again.
        if let words = stored.first { try await send(words, to: state.transactionID, request) }
    }

    /// The customer's consent.
    ///
    /// `nil` while it is unknown.
    private func consent(to purchase: RefundRequestTable.Purchase?) -> Bool? {
        switch access.replies.consented {
        case .never: false
        case .all: purchase?.isConsented ?? true
        case .user: purchase?.isConsented
        }
    }

    private func send(_ answer: JSONText, to transactionID: Identifier, _ request: Request) async throws {
        do throws(APIFailure) { try await api.answerRefundRequest(transactionID.text, Array(answer.bytes)) } catch {
            guard [.notFound, .refused].contains(error.action) else { throw error }
            metrics.failed(error)
            log.warning(
                "answer to a refund request refused by Apple", logged(request).appending(["error": .string("\(error)")])
            )
            return try await end(request, .refused, code: error.errorCode)
        }
        metrics.answered(.consumption)
        try await end(request, .answered)
    }

    private func wait(_ request: Request) async throws { _ = try await client.run(RefundRequestTable.wait, request) }

    private func end(_ request: Request, _ outcome: RefundRequestTable.Outcome, code errorCode: Int64? = nil)
        async throws
    { _ = try await client.run(RefundRequestTable.end, (request, outcome, errorCode)) }

    /// Reads the evidence, and the catalog's rules for the product.
    private func evidence(of state: RefundRequestTable.State, _ request: Request, at now: Timestamp) async throws -> (
        RefundEvidence, [RefundRule]
    ) {
        guard let purchase = state.purchase else {
            return (RefundEvidence(type: nil, isDelivered: false, consumed: 0, refundsInYear: 0), [])
        }
        let catalog = try await client.withConnection { connection in
            try await catalogs.catalog(version: purchase.catalogVersion, connection).catalog
        }
        let product = catalog[purchase.productID]
        let type = purchase.type.flatMap { $0.isUnknown ? nil : $0 } ?? product?.type
        // Items may grant keys, which are held until they are taken back, instead of credits.
        let isKept = purchase.isAdvancedCommerce && !purchase.isCredited
        let consumed: Int32
        switch type {
        case .consumable where !isKept:
            let credits = Array(try await client.run(RefundRequestTable.credits, request))
            let debits = Array(try await client.run(RefundRequestTable.debits, request))
            consumed = Consumption.share(of: state.transactionID, credits: credits, debits: debits)
        case .autoRenewable:
            let period = Period(start: purchase.purchaseDate, end: purchase.expiresDate)
            consumed = Consumption.share(of: period, until: now)
        case .nonRenewing:
            let period = try await stackedPeriod(of: state.transactionID, purchase, in: request.app, by: catalog)
            consumed = Consumption.share(of: period, until: now)
        case .consumable, .nonConsumable, .other, nil: consumed = Revocation.wholePercentage
        }
        let isHeld = purchase.userID != nil && purchase.isProjected
        var evidence = RefundEvidence(
            type: type, isDelivered: isHeld && (type != .consumable || purchase.isCredited || isKept),
            consumed: consumed, refundsInYear: purchase.refundsInYear)
        evidence.wasTried = purchase.wasTried
        evidence.isAdvancedCommerce = purchase.isAdvancedCommerce
        return (evidence, product?.refundRules ?? [])
    }

    /// The period of a non-renewing purchase after what the user held before; for a copy of it, and without an owner,
    /// from the purchase date.
    private func stackedPeriod(
        of transactionID: Identifier, _ purchase: RefundRequestTable.Purchase, in app: RecoveredApp, by catalog: Catalog
    ) async throws -> Period {
        let duration = catalog[purchase.productID]?.durations.value(at: purchase.purchaseDate)
        let end = duration?.added(to: purchase.purchaseDate, times: purchase.quantity)
        let period = Period(start: purchase.purchaseDate, end: end)
        guard let userID = purchase.userID else { return period }
        let key = StackKey(
            environment: app.environment, bundleID: app.bundleID, userID: userID, productID: purchase.productID)
        let held = try await client.run(StackedPurchaseTable.ofHolders, [StackedPurchaseTable.Holder(key)])
        return NonRenewingStacks(held, catalog: catalog).period(of: transactionID, in: key) ?? period
    }
}

extension RefundEvidence {
    /// The evidence for the table, beside the answer.
    fileprivate func json(_ state: RefundRequestTable.State, at now: Timestamp) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.optionalString("as_of", "\(now)")
            writer.optionalString("product_type", type?.rawValue)
            writer.key("is_delivered")
            writer.bool(isDelivered)
            writer.optionalInt("consumed", consumed)
            writer.optionalInt("refunds_in_year", refundsInYear)
            writer.key("was_tried")
            writer.bool(wasTried)
            writer.key("is_advanced_commerce")
            writer.bool(isAdvancedCommerce)
            writer.optionalInt("catalog_version", state.purchase?.catalogVersion)
            writer.optionalString("preferred_by", state.wanted == nil ? "rules" : "person")
        }
        return writer.bytes
    }
}
