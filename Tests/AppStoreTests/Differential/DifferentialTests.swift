import AppStore
import OpenSSL
import TestSupport
import Testing
import Simulation

/// The same bodies before this verifier and before Apple's own Python library.
@Suite(.needsApplesLibrary, .hopeless) struct DifferentialTests {
    static let count = 20_000
    static let seed: UInt64 = 2_026

    @Test func `every difference in verdict to Apple's library is an explained one`() throws {
        let library = try #require(ApplePython.shared)
        defer { library.remove() }
        var corpus = try DifferentialCorpus(seed: Self.seed)
        let bodies = try corpus.bodies(count: Self.count)
        let root = corpus.authorities.good.root
        // Two processes of theirs, and ours beside them.
        let half = bodies.count / 2
        let first = try library.verify(Array(bodies[..<half]), root: root)
        let second = try library.verify(Array(bodies[half...]), root: root)
        let ours = try Self.verdicts(bodies, root: root)
        let theirs = try first.verdicts() + second.verdicts()
        try #require(theirs.count == bodies.count)
        var differences: [Difference] = []
        for (body, (our, their)) in zip(bodies, zip(ours, theirs)) where (our.refusal == nil) != (their == "OK") {
            differences.append(
                Difference(mutation: body.mutation, ours: our.refusal, isIgnored: our.isIgnored, theirs: their))
        }
        let unexplained = differences.filter { ExplainedDifference.explaining($0) == nil }
        let kinds = Set(unexplained.map(\.description)).sorted()
        #expect(kinds == [], "\(unexplained.count) of \(bodies.count)")
        let unused = ExplainedDifference.all.filter { explained in !differences.contains { explained.explains($0) } }
        #expect(unused.map(\.why) == [])
        // Most of the corpus is decided alike, and a good part of it is accepted by both.
        #expect(differences.count < bodies.count / 6)
        #expect(ours.count { $0.refusal == nil && !$0.isIgnored } > bodies.count / 6)
    }

    private static func verdicts(_ bodies: [DifferentialBody], root: [UInt8]) throws -> [(
        refusal: Refusal?, isIgnored: Bool
    )] {
        let certificate = try Certificate(der: root)
        let apps = [Environment.production, .sandbox].map { environment in
            ConfiguredApp(
                bundleID: Identifier(Minted.bundleID), environment: environment, appAppleID: Minted.appAppleID,
                roots: [certificate], hasTestRootInProduction: true)
        }
        let verifier = Verifier(configuration: VerifierConfiguration(apps: apps))
        return bodies.map { body in
            switch verifier.verify(body.body) {
            case .success(.ignored): (nil, true)
            case .success: (nil, false)
            case .failure(let refusal): (refusal, false)
            }
        }
    }
}
