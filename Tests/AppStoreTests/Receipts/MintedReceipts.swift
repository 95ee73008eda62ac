import AppStore
import JSON
import OpenSSL
import Testing
import Simulation

/// An authority for receipts, and receipts of the app that `Minted` configures.
enum MintedReceipts {
    static let blueprint = Result { try AuthorityBlueprint.receipts(name: "Trusted") }
    static let authority = Result { try CertificateAuthority(blueprint.get()) }

    /// The app in Production and in Sandbox, under the trusted authorities of both families.
    static func verifier(limits: VerifierLimits = .standard) throws -> Verifier {
        let roots = [try Minted.authority.get(), try authority.get()]
        let apps = try [Environment.production, .sandbox].map { environment in
            try Minted.app(environment, trusting: roots)
        }
        return Verifier(configuration: VerifierConfiguration(apps: apps, limits: limits))
    }

    /// The same for another authority of receipts.
    static func verifier(trusting authority: CertificateAuthority) throws -> Verifier {
        Verifier(configuration: VerifierConfiguration(apps: [try Minted.app(trusting: [authority])]))
    }

    /// The blueprint with a change, its keys the same.
    static func authority(_ change: (inout AuthorityBlueprint) throws -> Void) throws -> CertificateAuthority {
        var changed = try blueprint.get()
        try change(&changed)
        return try CertificateAuthority(changed)
    }

    /// A receipt of one monthly subscription.
    static func fields(_ change: (inout ReceiptFields) -> Void = { _ in }) -> ReceiptFields {
        var fields = ReceiptFields()
        fields.records = [ReceiptRecordFields()]
        change(&fields)
        return fields
    }

    /// The same with its one record changed.
    static func record(_ change: (inout ReceiptRecordFields) -> Void) -> ReceiptFields {
        fields { change(&$0.records[0]) }
    }

    static func text(_ fields: ReceiptFields = fields(), _ change: (inout ReceiptForm) -> Void = { _ in }) throws
        -> [UInt8]
    {
        var form = ReceiptForm()
        change(&form)
        return try authority.get().receiptText(fields, form)
    }

    static func items(_ fields: ReceiptFields, sourceLocation: SourceLocation = #_sourceLocation) throws
        -> [VerifiedItem]
    { try verifier().items(text(fields), sourceLocation: sourceLocation) }

    static func reason(_ fields: ReceiptFields) throws -> RefusalReason? { try verifier().reason(text(fields)) }
}
