package import Simulation
package import OpenSSL

/// An authority whose certificates name responders on 127.0.0.1, one of each issuer.
package struct RevocableAuthority: Sendable {
    package static let rootSerial = 1
    package static let intermediateSerial = 21
    package static let leafSerial = 11

    package let authority: CertificateAuthority
    package let blueprint: AuthorityBlueprint
    /// The port at which the root answers for the intermediate.
    package let rootPort: UInt16
    package let intermediatePort: UInt16
    private let reserved: (root: ReservedPort, intermediate: ReservedPort)

    /// - Parameter port: of both responders; nil for free ones that `startResponders` listens on.
    package init(
        name: String = "Revocable", validity: ClosedRange<Int64> = CertificateAuthority.standardValidity,
        port: UInt16? = nil, adjusting adjust: (inout AuthorityBlueprint) throws -> Void = { _ in }
    ) throws {
        reserved = (try ReservedPort(), try ReservedPort())
        rootPort = port ?? reserved.root.number
        intermediatePort = port ?? reserved.intermediate.number
        var blueprint = try AuthorityBlueprint(name: name, validity: validity)
        blueprint.intermediate.serialNumber = Self.intermediateSerial
        blueprint.leaf.serialNumber = Self.leafSerial
        blueprint.intermediate.extensions.append(.ocspResponder(at: "http://127.0.0.1:\(rootPort)/root"))
        blueprint.leaf.extensions.append(.ocspResponder(at: "http://127.0.0.1:\(intermediatePort)/intermediate"))
        blueprint.root.extensions.append(.ocspResponder(at: "http://127.0.0.1:\(rootPort)/root"))
        try adjust(&blueprint)
        self.blueprint = blueprint
        authority = try CertificateAuthority(blueprint)
    }

    /// The chain, the leaf first.
    package var chain: [Certificate] { get throws { try authority.chain.map { try Certificate(der: $0) } } }

    /// The intermediate's responder, which answers with a certificate made for that.
    package func leafResponder(_ entry: OCSPServer.Entry = .good, options: [String] = ["-ndays", "1"]) async throws
        -> OCSPServer
    {
        try await OCSPServer(
            port: intermediatePort, issuer: authority.intermediate, signer: delegate(),
            entries: [Self.leafSerial: entry], options: options)
    }

    /// The root's responder, which answers by the root itself.
    package func intermediateResponder(_ entry: OCSPServer.Entry = .good) async throws -> OCSPServer {
        try await OCSPServer(
            port: rootPort, issuer: authority.root,
            signer: OCSPServer.Signer(certificate: authority.root, key: blueprint.rootKey),
            entries: [Self.intermediateSerial: entry])
    }

    /// A certificate of the intermediate's for answering questions, after `adjust` has had its way.
    package func delegate(adjusting adjust: (inout CertificateBuilder) -> Void = { _ in }) throws -> OCSPServer.Signer {
        let key = try PrivateKey.generate(.p256)
        var builder = CertificateBuilder(
            subject: "Responder", issuer: blueprint.intermediate.subject,
            validity: CertificateAuthority.standardValidity)
        builder.serialNumber = 99
        builder.keyUsage = .digitalSignature
        builder.extensions = [.ocspSigning]
        adjust(&builder)
        let der = try builder.der(for: key, signedBy: blueprint.intermediateKey)
        return OCSPServer.Signer(certificate: der, key: key)
    }
}
