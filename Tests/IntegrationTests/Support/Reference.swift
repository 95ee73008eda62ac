import Store
import AppStore
import Demonstration
import Entitlements
import Kafka
import Operations
import OpenSSL
import Records
import Simulation
import TestSupport

/// The expected results of a set of records, by the pure code alone: no broker, database or order.
struct Reference: Sendable {
    let picture: RowPicture
    let refused: RefusedRecords

    /// - Parameters:
    ///   - rules: those of `link-worker`.
    ///   - valueBytesMax: a larger value does not fit in a dead letter.
    init(_ records: [ProducerRecord], _ traffic: DemoTraffic, rules: OwnershipRules, valueBytesMax: Int) throws {
        let verifier = Verifier(configuration: try traffic.verifierConfiguration)
        var facts = FactSet()
        var refused: RefusedRecords = [:]
        for (offset, record) in records.enumerated() {
            switch verifier.verify(record.value) {
            // No responder is asked here, so nothing waits.
            case .success(.ignored), .success(.undetermined): break
            case .success(.items(let items)):
                let user = Self.ingestUserID(of: record)
                for item in items {
                    let source = Self.source(offset)
                    facts.add(try Observation(item, source: source, ingestUserID: user.map { Identifier($0) }))
                }
            case .failure(let refusal):
                let record = RefusedRecord(record, refusal.reason, valueBytesMax: valueBytesMax)
                refused[record, default: 0] += 1
            }
        }
        self.refused = refused
        let fold = EntitlementFold(
            facts, links: traffic.foldedLinks, rules: rules, catalog: try Catalog(json: Array(traffic.catalog.utf8)))
        picture = RowPicture(facts, fold)
    }

    /// The user that ingestion names beside a body.
    private static func ingestUserID(of record: ProducerRecord) -> String? {
        record.headers.first { $0.name == "user-id" }?.value.map { String(decoding: $0, as: UTF8.self) }
    }

    /// No fact of this traffic depends on the position of its record: no two records of one
    /// transaction name different users.
    private static func source(_ offset: Int) -> ObservationSource {
        ObservationSource(RecordPosition(topic: "", partition: 0, offset: Int64(offset)))
    }
}

extension DemoTraffic {
    var verifierConfiguration: VerifierConfiguration {
        get throws {
            let roots = try roots.map { try Certificate(der: $0) }
            return VerifierConfiguration(
                apps: apps.map { app in
                    ConfiguredApp(
                        bundleID: Identifier(app.bundleID), environment: Environment(rawValue: app.environment),
                        appAppleID: app.appAppleID, roots: roots,
                        hasTestRootInProduction: app.environment == "Production")
                })
        }
    }

    /// The links in the fold's form; each of the traffic's is of one app alone.
    fileprivate var foldedLinks: AccountLinks {
        var links = AccountLinks()
        for link in accountLinks {
            switch link.kind {
            case .accountToken: if let token = AccountToken(link.key.text) { links.userByToken[token] = link.userID }
            case .appTransactionID: links.userByAppTransactionID[link.key] = link.userID
            case .originalTransactionID: links.userByOriginalTransactionID[link.key] = link.userID
            }
        }
        return links
    }
}
