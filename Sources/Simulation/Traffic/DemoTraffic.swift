package import OpenSSL

/// What the ingestion services of a small company write on a lively day, good and bad.
///
/// For one seed and one moment the customers, their purchases and the order of the records are
/// always the same; keys and signatures are new each time. The lives of the customers are whole, so
/// that `users` says what each has to end up with, in whatever order the records are read.
package struct DemoTraffic: Sendable {
    /// Signs all that is genuine but receipts.
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
    package init(
        seed: UInt64 = 1,
        bodyCount: Int = 2_000,
        now: Int64
    ) throws(KeyError) {
        precondition(bodyCount >= Self.bodyCountMin, "too few bodies for one of each kind")
        var script = try DemoScript(seed: seed, now: now)
        try script.write(bodyCount: bodyCount)
        authority = script.authority
        receiptAuthority = script.receiptAuthority
        catalog = DemoProduct.catalog
        items = script.items
        users = script.users
        links = script.links
    }

    /// What the settings of each app have to trust, in DER.
    package var roots: [[UInt8]] { [authority.root, receiptAuthority.root] }

    /// The same as a file.
    package var rootPEM: String { authority.rootPEM + receiptAuthority.rootPEM }

    /// Traffic that somebody else has made, of the same apps.
    package init(
        authority: CertificateAuthority,
        receiptAuthority: CertificateAuthority,
        catalog: String,
        items: [DemoItem],
        links: [DemoLink]
    ) {
        self.authority = authority
        self.receiptAuthority = receiptAuthority
        self.catalog = catalog
        self.items = items
        self.links = links
        users = []
    }

    /// Room for one of each kind.
    package static let bodyCountMin = 200
}
