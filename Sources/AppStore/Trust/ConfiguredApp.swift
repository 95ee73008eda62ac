package import OpenSSL

/// One app in one environment: whose purchases are accepted, and who may vouch for them.
package struct ConfiguredApp: Sendable {
    package let bundleID: String
    package let environment: Environment
    /// Apple's number for the app; needed in Production.
    package let appAppleID: Int64?
    /// Instead of Apple's pinned roots; in Xcode and LocalTesting the certificates exported from
    /// Xcode, each of which signs by itself.
    package let roots: [Certificate]
    /// Says that roots of one's own are meant in Production, where they could sell for nothing.
    package let hasTestRootInProduction: Bool

    package init(
        bundleID: String,
        environment: Environment,
        appAppleID: Int64? = nil,
        roots: [Certificate] = [],
        hasTestRootInProduction: Bool = false
    ) {
        self.bundleID = bundleID
        self.environment = environment
        self.appAppleID = appAppleID
        self.roots = roots
        self.hasTestRootInProduction = hasTestRootInProduction
    }

    /// Whether its JWS and receipts carry one certificate, exported from Xcode, instead of a chain.
    package var isLocal: Bool { environment == .xcode || environment == .localTesting }

    /// Who may vouch for what the family signs for the app.
    func trusts(_ family: ChainFamily) -> [Trust] {
        roots.isEmpty ? [.apple] : roots.compactMap { family.trust(inRoot: $0.fingerprint) }
    }

    /// What is wrong with the entry, each as a sentence for the operator.
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
            problems.append(
                "\(name): roots of one's own in Production need test_root_in_production"
            )
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
    /// Has a key that Xcode signs with: P-256 for JWS, RSA for receipts.
    fileprivate var signsAlone: Bool {
        [.jws, .receipts].contains { (family: ChainFamily) in family.keyFault(of: self) == nil }
    }
}
