import OpenSSL

/// The authorities that nobody ought to believe.
struct DemoImpostors {
    /// Complete, and of a root that nobody configured.
    let foreign: CertificateAuthority
    /// The genuine root and intermediate, and a leaf that another key signed.
    let broken: CertificateAuthority
    /// Issued by the genuine intermediate, for something else than receipts.
    let unmarked: CertificateAuthority

    init(of genuine: AuthorityBlueprint) throws(KeyError) {
        foreign = try CertificateAuthority(name: "Forger's")
        var blueprint = genuine
        blueprint.leafSigner = try .generate(.p384)
        broken = try CertificateAuthority(blueprint)
        blueprint = genuine
        blueprint.leaf.extensions.removeFirst()
        unmarked = try CertificateAuthority(blueprint)
    }
}
