import AppStore
import OpenSSL
import Simulation

/// The records of `bench verify`, good and forged, all of one size.
struct VerifyFixture: Sendable {
    /// A good record, taken apart for OpenSSL alone.
    struct Raw: Sendable {
        let message: [UInt8]
        let signature: [UInt8]
    }

    /// The leaf's key as SubjectPublicKeyInfo.
    let key: [UInt8]
    let app: ConfiguredApp
    /// The configuration of a warm worker: the leaf's key has its table at once.
    private let running: VerifierConfiguration
    let raw: [Raw]
    let good: [[UInt8]]
    let foreignChain: [[UInt8]]
    let forgedLeaf: [[UInt8]]
    let forgedSignature: [[UInt8]]

    init(recordCount: Int) throws {
        let blueprint = try AuthorityBlueprint(name: "Good")
        let authority = try CertificateAuthority(blueprint)
        let foreign = try CertificateAuthority(name: "Forger's")
        key = authority.leafKey.subjectPublicKeyInfo
        app = try ConfiguredApp(trusting: authority)
        let payloads = (0..<recordCount).map(BenchTransaction.payload)
        var limits = VerifierLimits.standard
        limits.signaturesBeforeTable = 1
        running = VerifierConfiguration(apps: [app], limits: limits)
        good = try payloads.map { try authority.sign($0) }
        foreignChain = try payloads.map { try foreign.sign($0) }
        let (forger, header) = try authority.leafForger(blueprint)
        forgedLeaf = try payloads.map { try forger.sign($0, headerSegment: header) }
        forgedSignature = try payloads.map { try authority.forge($0, .flippedSignature) }
        raw = try payloads.map { payload in
            let message = authority.headerSegment + [UInt8(ascii: ".")] + Base64Text.url(payload)
            let signature = try authority.leafKey.sign(message, digest: .sha256)
            return Raw(message: message, signature: signature)
        }
    }

    func verifier() -> Verifier { Verifier(configuration: running) }

    /// A verifier without key tables, so that a good record costs no less than the bodies beside
    /// it.
    func verifier(knowing caches: Caches) -> Verifier {
        var limits = VerifierLimits.standard
        limits.keyTablesMax = 0
        if caches != .chains { limits.chainsCachedMax = 0 }
        if caches == .nothing { limits.intermediatesKnownMax = 0 }
        return Verifier(configuration: VerifierConfiguration(apps: [app], limits: limits))
    }

    /// The certificates that a verifier remembers.
    enum Caches { case chains, intermediates, nothing }
}

extension CertificateAuthority {
    /// A forger who copies the intermediate and the root, and signs a leaf that names them.
    ///
    /// - Parameter blueprint: of this authority.
    func leafForger(_ blueprint: AuthorityBlueprint) throws -> (forger: CertificateAuthority, headerSegment: [UInt8]) {
        var forged = blueprint
        forged.leafSigner = try .generate(.p384)
        let forger = try CertificateAuthority(forged)
        let certificates = [forger.leaf, intermediate, root]
        return (forger, Self.headerSegment(certificates: certificates))
    }
}
