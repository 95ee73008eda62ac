import AppStore
import Entitlements
import JSON
import OpenSSL
import TestSupport
import Traffic

/// The scenarios' bodies, as ingestion services would write them.
enum ScenarioTraffic {
    /// Those that can run beside each other: linked by the default rules, carried by JWS that one
    /// trust vouches for, and decided by something else than a content hash.
    static func scenarios() throws -> [ApartScenario] {
        try Scenario.names.map { try Scenario.load($0) }
            .filter(\.canRunBesideOthers)
            .enumerated()
            .map { ApartScenario($1, number: $0 + 1) }
    }

    static func traffic(_ scenarios: [ApartScenario]) throws -> DemoTraffic {
        let authority = try CertificateAuthority()
        let catalog = Catalog(scenarios.flatMap(\.products))
        return DemoTraffic(
            authority: authority,
            receiptAuthority: authority,
            catalog: String(decoding: catalog.json, as: UTF8.self),
            items: try scenarios.flatMap { try $0.items(signedBy: authority) },
            links: scenarios.flatMap(\.links)
        )
    }
}

extension Scenario {
    fileprivate var canRunBesideOthers: Bool {
        rules.policy == .transfer && !rules.tokensAreUserIDs && !rules.trustsIngestion
            && observations.allSatisfy(\.isPlain) && !isDecidedByHash
    }

    /// Whether two contents of one transaction have the same date.
    private var isDecidedByHash: Bool {
        let contents = observations.compactMap { observation in
            observation.transaction.map { transaction in
                let id = transaction["transactionId"]?.string ?? ""
                let date = transaction["signedDate"]?.int64 ?? 0
                let place = "\(observation.environment.rawValue) \(id) \(date)"
                return (place, [ContentHash.of(transaction)])
            }
        }
        return Dictionary(contents, uniquingKeysWith: +).values.contains { Set($0).count > 1 }
    }
}

extension Observation {
    /// Whether one authority can sign it as it stands.
    fileprivate var isPlain: Bool {
        verification?.method == .jws && verification?.trust == .apple
            && transaction?["advancedCommerceInfo"] == nil
            && (transaction?["bundleId"]?.isString("com.example.app") ?? true)
    }
}
