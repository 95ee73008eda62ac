package import OpenSSL
import Platform

/// The records of a small company's ingestion services on a busy day, good and bad.
///
/// The customers, their purchases and the order of the records depend on the seed and the moment
/// alone; keys and signatures are new each time. The customers' histories are complete, so that
/// `users` states the expected entitlements for any order of the records.
package struct DemoTraffic: Sendable {
    /// Signs everything genuine except receipts.
    package let authority: CertificateAuthority
    /// Signs the receipts, with RSA keys as Apple does.
    package let receiptAuthority: CertificateAuthority
    package let apps = DemoApp.all
    package let catalog: String
    package let items: [DemoItem]
    package let users: [DemoUser]
    package let links: [DemoLink]

    /// - Parameters:
    ///   - bodyCount: how many records; at least `bodyCountMin`.
    ///   - now: the moment at which the customers hold what `users` says, in milliseconds since
    ///     1970. Periods that run then run for ten days more at least.
    package init(seed: UInt64 = 1, bodyCount: Int = 2_000, now: Int64 = WallClock.milliseconds) throws(KeyError) {
        precondition(bodyCount >= Self.bodyCountMin, "too few bodies for one of each kind")
        let blueprint = try AuthorityBlueprint(name: "Demo")
        let signers = DemoSigners(
            jws: try CertificateAuthority(blueprint), receipts: try CertificateAuthority(.receipts(name: "Demo")))
        var script = DemoScript(seed: seed, now: now, signers: signers)
        try script.write(bodyCount: bodyCount, impostors: DemoImpostors(of: blueprint))
        authority = script.authority
        receiptAuthority = script.receiptAuthority
        catalog = DemoProduct.catalog
        items = script.items
        users = script.users
        links = script.links
    }

    /// The roots that the settings of each app have to trust, in DER.
    package var roots: [[UInt8]] { [authority.root, receiptAuthority.root] }

    /// The same as a file.
    package var rootPEM: String { authority.rootPEM + receiptAuthority.rootPEM }

    /// Traffic from another maker, for the same apps.
    package init(
        authority: CertificateAuthority, receiptAuthority: CertificateAuthority, catalog: String, items: [DemoItem],
        links: [DemoLink]
    ) {
        self.authority = authority
        self.receiptAuthority = receiptAuthority
        self.catalog = catalog
        self.items = items
        self.links = links
        users = []
    }

    /// Smallest number of bodies with one of each kind.
    package static let bodyCountMin = 200
}

/// The authorities that sign instead of Apple.
package struct DemoSigners: Sendable {
    package let jws: CertificateAuthority
    /// The authority of receipts, with RSA keys as Apple's.
    package let receipts: CertificateAuthority

    package init(jws: CertificateAuthority, receipts: CertificateAuthority) {
        self.jws = jws
        self.receipts = receipts
    }
}

/// The authorities that must not be trusted.
struct DemoImpostors {
    /// A complete authority with a root that is not configured.
    let foreign: CertificateAuthority
    /// The genuine root and intermediate, and a leaf that another key signed.
    let broken: CertificateAuthority
    /// An authority whose leaf the genuine intermediate issued for another purpose than receipts.
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

/// The same numbers for the same seed, on every machine (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A version 4 UUID in lower case.
    package mutating func uuid() -> String {
        let digits = Self.hex(next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000)
        let rest = Self.hex(next() >> 2 | 0x8000_0000_0000_0000)
        let parts = [
            digits.prefix(8), digits.dropFirst(8).prefix(4), digits.dropFirst(12), rest.prefix(4), rest.dropFirst(4),
        ]
        return parts.joined(separator: "-")
    }

    private static func hex(_ value: UInt64) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
