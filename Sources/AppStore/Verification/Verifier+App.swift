import JSON
import OpenSSL

extension Verifier {
    /// Checks that the payload is for a configured app, and that one of the chain's anchors may
    /// vouch for that app.
    ///
    /// Nil for a notification that names no app.
    func vouching(
        for fields: SignedFields,
        _ anchors: [Anchor]
    ) throws(Fault) -> Vouching? {
        switch fields {
        case .transaction(let fields):
            return try vouching(fields.bundleID, environment(fields.environment), anchors)
        case .renewalInfo(let fields):
            return try vouchingForRenewal(environment(fields.environment), anchors)
        case .appTransaction(let fields):
            return try vouching(
                fields.bundleID,
                environment(fields.environment),
                anchors,
                appAppleID: .some(fields.appAppleID)
            )
        case .notification(let fields):
            return try vouching(forNotification: fields, anchors)
        }
    }

    /// The same check for a notification, or for a payload of an unknown kind.
    ///
    /// An undocumented object may have any members: its app number is compared if present, and
    /// without an environment it names no app.
    func vouching(
        forNotification fields: NotificationPayload,
        _ anchors: [Anchor]
    ) throws(Fault) -> Vouching? {
        guard let subject = fields.subject, let bundleID = subject.bundleID else { return nil }
        let isDocumented = fields.documentedSubject != nil
        let namesEnvironment = subject.environment != nil || subject.externalPurchaseID != nil
        if !isDocumented, !namesEnvironment, configuration.hasBundle(bundleID) { return nil }
        let appAppleID = subject.appAppleID
        return try vouching(
            bundleID,
            environment(subject.environment) ?? subject.externalPurchaseEnvironment,
            anchors,
            appAppleID: isDocumented ? .some(appAppleID) : appAppleID.map { .some($0) }
        )
    }

    /// The same check for a receipt, whose app number is zero if absent.
    func vouching(
        forReceipt receipt: ReceiptContents,
        _ anchors: [Anchor]
    ) throws(Fault) -> Vouching {
        try vouching(
            receipt.app.bundleID,
            receipt.environment,
            anchors,
            .receipts,
            appAppleID: receipt.app.appAppleID.flatMap { $0 == 0 ? nil : .some($0) }
        )
    }

    /// The configured environment of a name; nil if no app has it.
    private func environment(_ name: PayloadText?) -> Environment? {
        name.flatMap { configuration.environment($0) }
    }

    /// - Parameter appAppleID: nil if the kind of payload has no such field; an inner nil if this
    ///   payload lacks it.
    private func vouching(
        _ bundleID: PayloadText?,
        _ environment: Environment?,
        _ anchors: [Anchor],
        _ family: ChainFamily = .jws,
        appAppleID: Int64?? = nil
    ) throws(Fault) -> Vouching {
        guard let bundleID else { throw Fault(.bundleMismatch, "absent") }
        guard configuration.hasBundle(bundleID) else {
            throw Fault(.bundleMismatch, "no app of this bundle ID is configured")
        }
        let index = environment.flatMap { configuration.indexOfApp(bundleID, $0) }
        if let index, let appAppleID, environment == .production {
            guard appAppleID == configuration.apps[index].appAppleID else {
                let detail = appAppleID == nil ? "absent" : "not the configured one"
                throw Fault(.appMismatch, detail)
            }
        }
        guard let index else {
            throw Fault(.environmentMismatch, "not configured for the app")
        }
        guard let anchor = configuration.anchor(of: anchors, family, forAppAt: index) else {
            throw Fault(.rootUntrusted, "the root may not vouch for this app and environment")
        }
        return Vouching(
            anchor: anchor,
            environment: configuration.apps[index].environment,
            app: configuration.apps[index]
        )
    }

    private func vouchingForRenewal(
        _ environment: Environment?,
        _ anchors: [Anchor]
    ) throws(Fault) -> Vouching {
        guard let environment else {
            throw Fault(.environmentMismatch, "not configured for any app")
        }
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
    /// Nil for renewal info.
    let app: ConfiguredApp?
}
