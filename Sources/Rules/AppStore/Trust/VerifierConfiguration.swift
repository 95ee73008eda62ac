package import OpenSSL

/// The apps, their anchors and the limits, shared by all verifiers of a process.
package struct VerifierConfiguration: Sendable {
    package let apps: [ConfiguredApp]
    package let limits: VerifierLimits
    /// The receiver of newly used chains.
    package var observer: (any ChainObserver)?
    package let keyTables: KeyTables
    /// The apps' distinct custom roots that may end a chain of three.
    private let chainRoots: [Certificate]
    /// Certificates that sign by themselves, in Xcode and LocalTesting.
    let localCertificates: [Certificate]
    private let jwsTrusts: [[Trust]]
    private let receiptTrusts: [[Trust]]

    /// - Parameter apps: entries for which `problems(with:)` is empty.
    package init(apps: [ConfiguredApp], limits: VerifierLimits = .standard) {
        self.apps = apps
        self.limits = limits
        keyTables = KeyTables(tablesMax: limits.keyTablesMax)
        chainRoots = Self.distinctRoots(of: apps.filter { !$0.isLocal })
        localCertificates = Self.distinctRoots(of: apps.filter(\.isLocal))
        jwsTrusts = apps.map { $0.trusts(.jws) }
        receiptTrusts = apps.map { $0.trusts(.receipts) }
    }

    /// The problems of each entry, and of the combination of all entries.
    package static func problems(with apps: [ConfiguredApp]) -> [String] {
        var problems = apps.flatMap(\.problems)
        if apps.isEmpty { problems.append("no app is configured, so every body would be refused") }
        for (index, app) in apps.enumerated() where apps[..<index].contains(where: { $0.isSame(as: app) }) {
            problems.append("app \(app.bundleID) in \(app.environment.rawValue) is configured twice")
        }
        return problems
    }

    private static func distinctRoots(of apps: [ConfiguredApp]) -> [Certificate] {
        var roots: [Certificate] = []
        for root in apps.flatMap(\.roots) where !roots.contains(where: { $0.fingerprint == root.fingerprint }) {
            roots.append(root)
        }
        return roots
    }

    package var appsWithTestRootInProduction: [ConfiguredApp] {
        apps.filter { $0.environment == .production && !$0.roots.isEmpty }
    }

    /// The apps' custom roots that vouch for a family: any except Apple's root of the other family.
    func chainRoots(_ family: ChainFamily) -> [Certificate] {
        chainRoots.filter { family.trust(inRoot: $0.fingerprint) != nil }
    }

    private func trusts(_ family: ChainFamily) -> [[Trust]] { family == .jws ? jwsTrusts : receiptTrusts }

    func hasBundle(_ bundleID: PayloadText) -> Bool { apps.contains { bundleID.equals($0.bundleID.text) } }

    /// The position of the entry for a bundle and an environment.
    func indexOfApp(_ bundleID: PayloadText, _ environment: Environment) -> Int? {
        apps.firstIndex { environment == $0.environment && bundleID.equals($0.bundleID.text) }
    }

    func environment(_ name: PayloadText) -> Environment? {
        apps.first { name.equals($0.environment.rawValue) }?.environment
    }

    /// The first of a chain's anchors that may vouch for an app.
    func anchor(of anchors: [Anchor], _ family: ChainFamily, forAppAt index: Int) -> Anchor? {
        anchors.first { trusts(family)[index].contains($0.trust) }
    }

    /// The first of a chain's anchors that may vouch for JWS of any app of an environment.
    func anchor(of anchors: [Anchor], forAnyAppIn environment: Environment) -> Anchor? {
        anchors.first { anchor in
            apps.indices.contains { apps[$0].environment == environment && jwsTrusts[$0].contains(anchor.trust) }
        }
    }
}

extension ConfiguredApp {
    fileprivate func isSame(as other: ConfiguredApp) -> Bool {
        bundleID == other.bundleID && environment == other.environment
    }
}

/// An app in one environment whose purchases are accepted, with the roots that may vouch for them.
package struct ConfiguredApp: Sendable {
    package let bundleID: Identifier
    package let environment: Environment
    /// Apple's number for the app; required in Production.
    package let appAppleID: Int64?
    /// The roots that replace Apple's pinned roots; in Xcode and LocalTesting the certificates exported from Xcode,
    /// each of which signs by itself.
    package let roots: [Certificate]
    /// Whether custom roots are intended in Production, where their holder could forge purchases.
    package let hasTestRootInProduction: Bool

    package init(
        bundleID: Identifier, environment: Environment, appAppleID: Int64? = nil, roots: [Certificate] = [],
        hasTestRootInProduction: Bool = false
    ) {
        self.bundleID = bundleID
        self.environment = environment
        self.appAppleID = appAppleID
        self.roots = roots
        self.hasTestRootInProduction = hasTestRootInProduction
    }

    /// Whether the app's JWS and receipts contain one certificate, exported from Xcode, instead of a chain.
    package var isLocal: Bool { environment == .xcode || environment == .localTesting }

    /// The trusts that may vouch for the app's data in a family.
    func trusts(_ family: ChainFamily) -> [Trust] {
        roots.isEmpty ? [.apple] : roots.compactMap { family.trust(inRoot: $0.fingerprint) }
    }

    /// The entry's problems, each as a sentence for the operator.
    package var problems: [String] {
        let name = "app \(bundleID) in \(environment.rawValue)"
        var problems: [String] = []
        if bundleID.isEmpty || environment.rawValue.isEmpty {
            problems.append("\(name): bundle ID and environment must not be empty")
        }
        if environment == .production && appAppleID == nil {
            problems.append("\(name): Production needs the app's Apple ID")
        }
        if environment == .production && !roots.isEmpty && !hasTestRootInProduction {
            problems.append("\(name): custom roots in Production need test_root_in_production")
        }
        if isLocal && roots.isEmpty {
            problems.append("\(name): needs the certificate exported from Xcode as its root")
        }
        if isLocal && roots.contains(where: { !$0.signsAlone }) {
            problems.append("\(name): a certificate exported from Xcode has a P-256 or RSA key")
        }
        return problems
    }
}

extension Certificate {
    /// Whether the certificate has a key that Xcode signs with: P-256 for JWS, RSA for receipts.
    fileprivate var signsAlone: Bool {
        [.jws, .receipts].contains { (family: ChainFamily) in family.keyFault(of: self) == nil }
    }
}

/// A receiver of the certificates that have signed genuine data.
package protocol ChainObserver: Sendable {
    /// Receives a chain, on any thread: once for each chain that a verifier caches, and for each receipt, whose chain
    /// no verifier caches.
    ///
    /// - Parameter chain: leaf, intermediate and the root that vouched for them; or one certificate that is itself
    ///   configured.
    func observed(_ chain: [Certificate])
}
