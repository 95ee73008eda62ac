import AppStore
import OpenSSL
import Testing
import Simulation

/// The apps that each root may vouch for, if several apps and roots are configured.
struct TrustTests {
    static let mine = Result { try CertificateAuthority(name: "Mine") }
    static let theirs = Result { try CertificateAuthority(name: "Theirs") }

    /// A verifier that trusts `mine` for the app in Sandbox, and `theirs` for it in Production and
    /// for another app.
    static func verifier() throws -> Verifier {
        let (mine, theirs) = (try mine.get(), try theirs.get())
        let apps = [
            try Minted.app(.sandbox, trusting: [mine]), try Minted.app(.production, trusting: [theirs]),
            try Minted.app(.sandbox, bundleID: "com.example.other", trusting: [theirs]),
        ]
        return Verifier(configuration: VerifierConfiguration(apps: apps))
    }

    @Test(
        arguments: [
            ("Mine", "Sandbox", "com.example.pro", nil), ("Theirs", "Production", "com.example.pro", nil),
            ("Theirs", "Sandbox", "com.example.other", nil), ("Mine", "Production", "com.example.pro", .rootUntrusted),
            ("Theirs", "Sandbox", "com.example.pro", .rootUntrusted),
            ("Mine", "Sandbox", "com.example.other", .rootUntrusted),
            ("Mine", "Production", "com.example.other", .environmentMismatch),
            ("Mine", "Xcode", "com.example.pro", .environmentMismatch),
            ("Mine", "sandbox", "com.example.pro", .environmentMismatch),
            ("Mine", "Sandbox", "com.example.Pro", .bundleMismatch),
        ] as [(String, String, String, RefusalReason?)])
    func `a root vouches for its own app and environment, cold and warm`(
        name: String, environment: String, bundleID: String, reason: RefusalReason?
    ) throws {
        let authority = try name == "Mine" ? Self.mine.get() : Self.theirs.get()
        var fields = TransactionFields()
        fields.environment = environment
        fields.bundleID = bundleID
        let body = try authority.sign(fields.json)
        let verifier = try Self.verifier()
        #expect(verifier.reason(body) == reason)
        #expect(verifier.chainsCached == 1)
        #expect(verifier.reason(body) == reason)
    }

    @Test func `a renewal info alone needs a root of its environment`() throws {
        let verifier = try Self.verifier()
        for (environment, authority, reason) in [
            ("Sandbox", Self.mine, nil), ("Sandbox", Self.theirs, nil), ("Production", Self.theirs, nil),
            ("Production", Self.mine, .rootUntrusted), ("Xcode", Self.mine, .environmentMismatch),
        ] as [(String, Result<CertificateAuthority, any Error>, RefusalReason?)] {
            var fields = RenewalFields()
            fields.environment = environment
            let body = try authority.get().sign(fields.json)
            #expect(verifier.reason(body) == reason)
        }
        var fields = RenewalFields()
        fields.environment = "Sandbox"
        let item = try #require(try verifier.items(Self.mine.get().sign(fields.json)).first)
        #expect(item.bundleID == nil)
        #expect(item.verification.trust == .configured(SHA256.digest(try Self.mine.get().root)))
    }

    @Test func `a renewal info of another root does not join a transaction`() throws {
        let (mine, theirs) = (try Self.mine.get(), try Self.theirs.get())
        let apps = [try Minted.app(.production, trusting: [mine, theirs])]
        let verifier = Verifier(configuration: VerifierConfiguration(apps: apps))
        for (authority, reason) in [(mine, nil), (theirs, RefusalReason.itemMismatch)] {
            let body = Body.subscriptionStatuses(
                environment: "Production", bundleID: Minted.bundleID, originalTransactionID: "2000000000000001",
                transaction: try mine.sign(TransactionFields().json), renewal: try authority.sign(RenewalFields().json))
            #expect(verifier.reason(body) == reason)
        }
    }

    @Test func `a root that was reissued with its key vouches as either`() throws {
        var blueprint = try AuthorityBlueprint(name: "Reissued", validity: CertificateAuthority.standardValidity)
        let first = try CertificateAuthority(blueprint)
        blueprint.root.serialNumber = 2
        blueprint.root.validity = Minted.signedSeconds + 1...Minted.signedSeconds + 100
        let second = try CertificateAuthority(blueprint)
        let body = try first.sign(TransactionFields().json)
        for (root, reason) in [(first, nil), (second, RefusalReason.certificateNotValidAtSigning)] {
            let verifier = try Minted.verifier(trusting: root)
            #expect(verifier.reason(body) == reason)
        }
        let both = try Minted.app(trusting: [second, first])
        let verifier = Verifier(configuration: VerifierConfiguration(apps: [both]))
        let item = try #require(try verifier.items(body).first)
        #expect(item.verification.root == SHA256.digest(first.root))
    }

    @Test func `all problems of the entries are reported at once`() throws {
        let root = try Minted.root(Self.mine.get())
        let apps = [
            ConfiguredApp(bundleID: "a", environment: .production),
            ConfiguredApp(bundleID: "b", environment: .production, appAppleID: 1, roots: [root]),
            ConfiguredApp(bundleID: "c", environment: .xcode),
            ConfiguredApp(bundleID: "d", environment: .localTesting, roots: [root]),
            ConfiguredApp(bundleID: "", environment: .sandbox), ConfiguredApp(bundleID: "e", environment: .sandbox),
            ConfiguredApp(bundleID: "e", environment: .sandbox),
        ]
        let problems = VerifierConfiguration.problems(with: apps)
        #expect(problems.count == 6)
        for word in ["Apple ID", "test_root_in_production", "exported", "P-256", "empty", "twice"] {
            #expect(problems.contains { $0.contains(word) }, "\(word)")
        }
        #expect(VerifierConfiguration.problems(with: []).count == 1)
        #expect(VerifierConfiguration.problems(with: try Minted.standardApps()).isEmpty)
    }
}
