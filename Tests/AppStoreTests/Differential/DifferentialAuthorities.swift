import OpenSSL
import Simulation

/// The authorities that sign the corpus: a good one, and copies of it with one defect each.
///
/// All have the good one's keys and names, so that their signatures have no other defect.
struct DifferentialAuthorities {
    typealias Change = @Sendable (inout AuthorityBlueprint) throws -> Void

    /// The windows begin and end at different seconds, so that each has bounds of its own.
    static let leafValidity: ClosedRange<Int64> = 1_600_000_000...1_900_000_000
    static let intermediateValidity: ClosedRange<Int64> = 1_500_000_000...2_000_000_000
    static let rootValidity: ClosedRange<Int64> = 1_400_000_000...2_100_000_000

    let good: CertificateAuthority
    /// Authorities with one defect each, with the defect's name.
    let defective: [(name: String, authority: CertificateAuthority)]
    let foreign: CertificateAuthority

    init() throws {
        var blueprint = try AuthorityBlueprint(name: "Trusted", validity: Self.rootValidity)
        blueprint.intermediate.validity = Self.intermediateValidity
        blueprint.leaf.validity = Self.leafValidity
        good = try CertificateAuthority(blueprint)
        let whole = blueprint
        defective = try Self.defects.map { name, change in
            var changed = whole
            try change(&changed)
            return (name, try CertificateAuthority(changed))
        }
        foreign = try CertificateAuthority(name: "Trusted", validity: Self.rootValidity)
    }

    /// The seconds at which a window opens or closes.
    static var bounds: [Int64] {
        [leafValidity, intermediateValidity, rootValidity].flatMap { [$0.lowerBound, $0.upperBound] }
    }

    private static let defects: [(name: String, change: Change)] = [
        ("leaf without its marker", { $0.leaf.extensions.removeFirst() }),
        ("leaf with its marker twice", { $0.leaf.extensions.append($0.leaf.extensions[0]) }),
        ("intermediate without its marker", { $0.intermediate.extensions.removeFirst() }),
        ("leaf is a CA", { $0.leaf.isCA = true }), ("leaf without basic constraints", { $0.leaf.isCA = nil }),
        ("leaf without digitalSignature", { $0.leaf.keyUsage = .keyEncipherment }),
        ("leaf without key usage", { $0.leaf.keyUsage = nil }),
        ("intermediate no CA", { $0.intermediate.isCA = false }),
        ("intermediate without basic constraints", { $0.intermediate.isCA = nil }),
        ("intermediate without path length", { $0.intermediate.pathLengthMax = nil }),
        ("intermediate without keyCertSign", { $0.intermediate.keyUsage = .digitalSignature }),
        ("intermediate without key usage", { $0.intermediate.keyUsage = nil }),
        ("leaf without authority key identifier", { $0.leaf.authorityKeyIdentifier = nil }),
        (
            "leaf with another authority key identifier",
            { $0.leaf.authorityKeyIdentifier = [UInt8](repeating: 7, count: 20) }
        ), ("intermediate without subject key identifier", { $0.intermediate.subjectKeyIdentifier = nil }),
        ("leaf signed by another key", { $0.leafSigner = try .generate(.p384) }),
        ("intermediate signed by another key", { $0.intermediateSigner = try .generate(.p384) }),
        ("leaf names another issuer", { $0.leaf.issuer = "Somebody" }),
        ("intermediate names another issuer", { $0.intermediate.issuer = "Somebody" }),
        ("SHA-1 on the leaf", { $0.leaf.signatureDigest = .sha1 }),
        ("SHA-1 on the intermediate", { $0.intermediate.signatureDigest = .sha1 }),
        ("intermediate with 1,024 bits", { $0.intermediateKey = try .generate(.rsa(bits: 1024)) }),
        ("intermediate with 2,048 bits", { $0.intermediateKey = try .generate(.rsa(bits: 2048)) }),
        (
            "unknown critical extension on the leaf",
            { $0.leaf.extensions.append(.init(oid: "1.2.3.4", isCritical: true)) }
        ),
        (
            "unknown critical extension on the intermediate",
            { $0.intermediate.extensions.append(.init(oid: "1.2.3.4", isCritical: true)) }
        ), ("unknown extension", { $0.leaf.extensions.append(.init(oid: "1.2.3.4")) }),
        ("leaf of version 1", { $0.leaf.version = 1 }), ("intermediate of version 1", { $0.intermediate.version = 1 }),
        ("leaf that never was valid", { $0.leaf.validity = 1_600_000_000...1_600_000_001 }),
    ]
}
