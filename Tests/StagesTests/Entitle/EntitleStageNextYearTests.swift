import AppStore
import Entitlements
import OpenSSL
import Records
import Simulation
import TestSupport
import Testing
import Topology
import Worker

/// Facts as Apple may sign them next year are stored, whatever their fields hold.
@Suite(.timeLimit(.minutes(10))) struct EntitleStageNextYearTests {
    private static func observations(_ count: Int) throws -> [Observation] {
        let authority = try CertificateAuthority(name: "Next year")
        let receipts = try CertificateAuthority(AuthorityBlueprint.receipts(name: "Receipts"))
        let roots = [try Certificate(der: authority.root), try Certificate(der: receipts.root)]
        let app = ConfiguredApp.pro(trusting: roots)
        let verifier = Verifier(configuration: VerifierConfiguration(apps: [app]))
        var nextYear = NextYear(seed: 2)
        var observations: [Observation] = []
        for _ in 0..<count {
            let body = try nextYear.body(signedBy: authority, receipts)
            guard case .success(.items(let items)) = verifier.verify(body.value) else { continue }
            for item in items {
                let source = ObservationSource(
                    RecordPosition(topic: "storekit.raw", partition: 0, offset: Int64(observations.count)))
                observations.append(try Observation(item, source: source))
            }
        }
        return observations
    }

    @Test func `every fact of next year is stored and projected, and no record is refused`() async throws {
        let worker = try await EntitleWorker()
        let observations = try Self.observations(300)
        let transactions = observations.count { $0.facts.transaction != nil }
        #expect(transactions > 100 && observations.count > 300)
        for start in stride(from: 0, to: observations.count, by: 100) {
            let batch = Array(observations[start...].prefix(100))
            let verdicts = try await worker.process(batch, from: Int64(start))
            for (observation, verdict) in zip(batch, verdicts) {
                #expect(verdict.refusal == nil, "\(observation.notification?.type ?? "alone")")
            }
        }
        #expect(try await worker.count("transactions") == Int64(transactions))
    }
}
