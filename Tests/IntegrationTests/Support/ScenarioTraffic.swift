import AppStore
import Entitlements
import JSON
import OpenSSL
import Records
import TestSupport
import Simulation

/// The scenarios' bodies, as ingestion services would write them.
enum ScenarioTraffic {
    /// Scenarios that can run beside each other, by the default rules of linking.
    static func scenarios() throws -> [ApartScenario] {
        try Scenario.names.map { try Scenario.load($0) }.filter { $0.isVouchedForByOne && $0.rules == OwnershipRules() }
            .enumerated().map { try ApartScenario($1, number: $0 + 1) }
    }

    /// The names of those that need workers of their own, because they are about other rules; without those that
    /// depend on the broker's clock.
    static let namesWithOtherRules: [String] = Scenario.names.filter { name in
        guard let scenario = try? Scenario.load(name) else { return false }
        return scenario.isVouchedForByOne && scenario.rules != OwnershipRules() && !scenario.rules.movesRestored
            && scenario.observations.allSatisfy { $0.source?.timestamp == nil }
    }

    static func traffic(_ scenarios: [ApartScenario]) throws -> DemoTraffic {
        let signers = DemoSigners(
            jws: try CertificateAuthority(), receipts: try CertificateAuthority(.receipts(name: "Scenarios")))
        let catalog = Catalog(scenarios.flatMap(\.products))
        return DemoTraffic(
            authority: signers.jws, receiptAuthority: signers.receipts,
            catalog: String(decoding: catalog.json, as: UTF8.self),
            items: try scenarios.flatMap { try $0.items(signedBy: signers) }, links: scenarios.flatMap(\.links))
    }
}

extension Scenario {
    /// Whether everything is signed below the root that one app's settings name.
    fileprivate var isVouchedForByOne: Bool {
        observations.allSatisfy { observation in
            observation.verification?.trust == .apple
                && (observation.facts.transaction.map { $0.key.bundleID == "com.example.app" } ?? true)
        }
    }
}

extension OwnershipRules {
    /// The settings of a `link-worker` with these rules.
    var environment: [String: String] {
        [
            "LINKING_POLICY": policy.rawValue, "LINKING_MODE": tokensAreUserIDs ? "identity" : "links",
            "LINKING_TRUST_INGEST_USER": String(trustsIngestion), "LINKING_MOVE_RESTORED": String(movesRestored),
        ]
    }
}
