import AppStore
import Entitlements
import Foundation
import Records
import Simulation
import TestSupport
import Testing

/// The rules computed a second time, in another language and from their text: both must agree.
///
/// `REFERENCE_HISTORIES` sets the number of random histories, `REFERENCE_SEED` the seed.
@Suite(.hopeless) struct ReferenceTests {
    private static let script = ReferenceScript("entitlements/reference.py")
    /// The number of histories per call, which bounds the memory.
    private static let chunk = 500

    @Test func `the reference agrees with each scenario's file`() throws {
        let result = try Self.script.run(["scenarios", Scenario.folder.path])
        #expect(result.isSuccess, "\(result.text)")
    }

    @Test func `each scenario ends otherwise with the mistakes that it names`() throws {
        let result = try Self.script.run(["defects", Scenario.folder.path])
        #expect(result.isSuccess, "\(result.text)")
    }

    @Test func `the reference agrees on random histories, in any order and doubled`() throws {
        let environment = ProcessInfo.processInfo.environment
        var rest = environment["REFERENCE_HISTORIES"].flatMap { Int($0) } ?? Self.chunk
        var seed = environment["REFERENCE_SEED"].flatMap { Int($0) } ?? 1
        var random = SeededGenerator(seed: UInt64(seed))
        while rest > 0 {
            let count = min(rest, Self.chunk)
            let result = try Self.script.run(["histories", "\(count)", "\(seed)"])
            try #require(result.isSuccess, "\(result.text)")
            let lines = result.output.split(separator: UInt8(ascii: "\n"))
            try #require(lines.count == count)
            for (number, line) in lines.enumerated() {
                let history = try Scenario(name: "\(seed)/\(number)", ScenarioFile(Array(line)))
                history.expectAgreement(using: &random)
            }
            rest -= count
            seed += 1
        }
    }
}

extension Scenario {
    fileprivate func expectAgreement(using random: inout SeededGenerator) {
        let doubled = (observations + observations).shuffled(using: &random)
        for order in [observations, doubled] {
            var facts = FactSet()
            for observation in order { #expect(facts.add(observation) == nil, "\(name)") }
            let fold = EntitlementFold(facts, links: links, rules: rules, catalog: catalog)
            #expect(fold.periodsByUserAndKey() == entitlements, "\(name)")
            #expect(fold.terms() == terms, "\(name)")
            #expect(fold.balances() == balances, "\(name)")
        }
    }
}
