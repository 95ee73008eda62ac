import JSON

extension Verifier {
    /// Checks that the payload is for a configured app, and that one of the chain's anchors may
    /// vouch for that app.
    ///
    /// `nil` for a notification that names no app.
    func vouching(for fields: SignedFields, _ anchors: [Anchor]) throws(Fault) -> Vouching? {
        switch fields {
        case .transaction(let fields):
            return try vouching(for: fields.bundleID, in: environment(fields.environment), anchors)
        case .renewalInfo(let fields): return try vouchingForRenewal(environment(fields.environment), anchors)
        case .appTransaction(let fields):
            return try vouching(
                for: fields.bundleID, in: environment(fields.environment), anchors,
                appNumber: fields.appAppleID.map(AppNumber.named) ?? .missing)
        case .notification(let fields): return try vouching(forNotification: fields, anchors)
        }
    }

    /// Makes the same check for a notification, or for a payload of an unknown kind.
    ///
    /// An undocumented object may have any members. Its app number is compared if present; without an environment the
    /// object names no app.
    func vouching(forNotification fields: NotificationPayload, _ anchors: [Anchor]) throws(Fault) -> Vouching? {
        guard let subject = fields.subject, let bundleID = subject.bundleID else { return nil }
        let isDocumented = fields.documentedSubject != nil
        let namesEnvironment = subject.environment != nil || subject.externalPurchaseID != nil
        if !isDocumented, !namesEnvironment, configuration.hasBundle(bundleID) { return nil }
        return try vouching(
            for: bundleID, in: environment(subject.environment) ?? subject.externalPurchaseEnvironment, anchors,
            appNumber: subject.appAppleID.map(AppNumber.named) ?? (isDocumented ? .missing : .notRequired))
    }

    /// Makes the same check for a receipt, whose app number is zero if absent.
    func vouching(forReceipt receipt: ReceiptContents, _ anchors: [Anchor]) throws(Fault) -> Vouching {
        try vouching(
            for: receipt.app.bundleID, in: receipt.environment, anchors, family: .receipts,
            appNumber: receipt.app.appAppleID.flatMap { $0 == 0 ? nil : .named($0) } ?? .notRequired)
    }

    /// The configured environment with a name.
    ///
    /// `nil` if no app has it.
    private func environment(_ name: PayloadText?) -> Environment? { name.flatMap { configuration.environment($0) } }

    private enum AppNumber: Equatable {
        case named(Int64)
        /// The payload lacks an app number, which this kind of payload must have.
        case missing
        case notRequired
    }

    private func vouching(
        for bundleID: PayloadText?, in environment: Environment?, _ anchors: [Anchor], family: ChainFamily = .jws,
        appNumber: AppNumber = .notRequired
    ) throws(Fault) -> Vouching {
        guard let bundleID else { throw Fault(.bundleMismatch, "absent") }
        guard configuration.hasBundle(bundleID) else {
            throw Fault(.bundleMismatch, "no app of this bundle ID is configured")
        }
        let index = environment.flatMap { configuration.indexOfApp(bundleID, $0) }
        if let index, appNumber != .notRequired, environment == .production {
            let expected = configuration.apps[index].appAppleID.map(AppNumber.named) ?? .missing
            guard appNumber == expected else {
                let detail = appNumber == .missing ? "absent" : "not the configured one"
                throw Fault(.appMismatch, detail)
            }
        }
        guard let index else { throw Fault(.environmentMismatch, "not configured for the app") }
        guard let anchor = configuration.anchor(of: anchors, family, forAppAt: index) else {
            throw Fault(.rootUntrusted, "the root may not vouch for this app and environment")
        }
        return Vouching(
            anchor: anchor, environment: configuration.apps[index].environment, app: configuration.apps[index])
    }

    private func vouchingForRenewal(_ environment: Environment?, _ anchors: [Anchor]) throws(Fault) -> Vouching {
        guard let environment else { throw Fault(.environmentMismatch, "not configured for any app") }
        guard let anchor = configuration.anchor(of: anchors, forAnyAppIn: environment) else {
            throw Fault(.rootUntrusted, "the root may not vouch for any app of this environment")
        }
        return Vouching(anchor: anchor, environment: environment, app: nil)
    }
}

/// The anchor that vouches for a payload, and the configured app that the payload is for.
struct Vouching {
    let anchor: Anchor
    let environment: Environment
    /// The app that the payload is for.
    ///
    /// `nil` for renewal info.
    let app: ConfiguredApp?
}
