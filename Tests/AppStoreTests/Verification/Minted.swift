import AppStore
import JSON
import OpenSSL
import Simulation

/// Authorities, apps and bodies that the tests of the verifier share.
enum Minted {
    static let bundleID = "com.example.pro"
    static let appAppleID: Int64 = 1_234_567_890
    /// 2026-01-01T00:00:01Z, the signed date in the fields of `Traffic`.
    static let signedSeconds: Int64 = 1_767_225_601

    /// The authority that the standard configuration trusts in Production and in Sandbox.
    static let authority = Result { try CertificateAuthority(name: "Trusted") }

    static func sign(_ payload: [UInt8]) throws -> [UInt8] { try authority.get().sign(payload) }

    static func root(_ authority: CertificateAuthority) throws -> Certificate { try Certificate(der: authority.root) }

    /// The app in an environment, under an authority of one's own or under Apple's pins.
    static func app(
        _ environment: Environment = .production, bundleID: String = bundleID,
        trusting authorities: [CertificateAuthority]
    ) throws -> ConfiguredApp {
        ConfiguredApp(
            bundleID: Identifier(bundleID), environment: environment, appAppleID: appAppleID,
            roots: try authorities.map(root), hasTestRootInProduction: true)
    }

    /// The app in Production and in Sandbox, under the trusted authority.
    static func standardApps() throws -> [ConfiguredApp] {
        let authority = try authority.get()
        return [try app(.production, trusting: [authority]), try app(.sandbox, trusting: [authority])]
    }

    static func verifier(limits: VerifierLimits = .standard) throws -> Verifier {
        Verifier(configuration: VerifierConfiguration(apps: try standardApps(), limits: limits))
    }

    static func verifier(trusting authority: CertificateAuthority) throws -> Verifier {
        Verifier(configuration: VerifierConfiguration(apps: [try app(trusting: [authority])]))
    }

    static func transaction(_ adjust: (inout TransactionFields) -> Void = { _ in }) throws -> [UInt8] {
        var fields = TransactionFields()
        adjust(&fields)
        return try sign(fields.json)
    }

    static func renewal(_ adjust: (inout RenewalFields) -> Void = { _ in }) throws -> [UInt8] {
        var fields = RenewalFields()
        adjust(&fields)
        return try sign(fields.json)
    }

    static func appTransaction(_ adjust: (inout AppTransactionFields) -> Void = { _ in }) throws -> [UInt8] {
        var fields = AppTransactionFields()
        adjust(&fields)
        return try sign(fields.json)
    }

    static func notification(
        transaction: [UInt8]? = nil, renewal: [UInt8]? = nil,
        _ adjust: (inout NotificationDataFields) -> Void = { _ in }
    ) throws -> [UInt8] { try sign(notificationPayload(transaction: transaction, renewal: renewal, adjust)) }

    static func notificationPayload(
        transaction: [UInt8]? = nil, renewal: [UInt8]? = nil,
        _ adjust: (inout NotificationDataFields) -> Void = { _ in }
    ) -> [UInt8] {
        var data = NotificationDataFields()
        data.signedTransactionInfo = transaction.map { String(decoding: $0, as: UTF8.self) }
        data.signedRenewalInfo = renewal.map { String(decoding: $0, as: UTF8.self) }
        adjust(&data)
        var fields = NotificationFields()
        fields.notificationType = transaction == nil ? "TEST" : "SUBSCRIBED"
        fields.data = data.json
        return fields.json
    }
}
