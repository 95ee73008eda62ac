import AppStore
import OpenSSL
import Simulation
import Testing

/// Tables of leaves' keys, which change no verdict.
struct KeyTableTests {
    private static func limits(tablesMax: Int = 8) -> VerifierLimits {
        var limits = VerifierLimits.standard
        limits.signaturesBeforeTable = 3
        limits.keyTablesMax = tablesMax
        return limits
    }

    private static func configuration(trusting authorities: [CertificateAuthority], _ limits: VerifierLimits) throws
        -> VerifierConfiguration
    {
        let app = try Minted.app(trusting: authorities)
        return VerifierConfiguration(apps: [app], limits: limits)
    }

    @Test func `a key gets a table after enough good signatures, and verdicts stay`() throws {
        let verifier = try Minted.verifier(limits: Self.limits())
        let tables = verifier.configuration.keyTables
        let authority = try Minted.authority.get()
        let good = try Minted.transaction()
        let forged = try authority.forge(TransactionFields().json, .flippedSignature)
        for _ in 0..<2 {
            #expect(verifier.reason(good) == nil)
            for _ in 0..<5 { #expect(verifier.reason(forged) == .signatureInvalid) }
        }
        #expect(tables.count == 0)
        for _ in 0..<5 {
            #expect(verifier.reason(good) == nil)
            #expect(tables.count == 1)
            #expect(verifier.reason(forged) == .signatureInvalid)
        }
    }

    @Test func `with a maximum of zero no table is made`() throws {
        let verifier = try Minted.verifier(limits: Self.limits(tablesMax: 0))
        for _ in 0..<10 { #expect(verifier.reason(try Minted.transaction()) == nil) }
        #expect(verifier.configuration.keyTables.count == 0)
    }

    @Test func `the verifiers of a configuration share a key's table`() throws {
        let authority = try CertificateAuthority(name: "Shared")
        let configuration = try Self.configuration(trusting: [authority], Self.limits())
        let verifiers = (0..<3).map { _ in Verifier(configuration: configuration) }
        let body = try authority.sign(TransactionFields().json)
        for verifier in verifiers { for _ in 0..<6 { #expect(verifier.reason(body) == nil) } }
        #expect(configuration.keyTables.count == 1)
    }

    @Test func `there are as many tables as allowed, and the other keys do without`() throws {
        let authorities = try (0..<4).map { try CertificateAuthority(name: "Authority \($0)") }
        let limits = Self.limits(tablesMax: 2)
        let configuration = try Self.configuration(trusting: authorities, limits)
        let verifier = Verifier(configuration: configuration)
        for authority in authorities {
            let body = try authority.sign(TransactionFields().json)
            for _ in 0..<7 { #expect(verifier.reason(body) == nil) }
        }
        #expect(configuration.keyTables.count == 2)
    }

    @Test func `a table is freed with the last chain of its leaf`() throws {
        let authorities = try (0..<3).map { try CertificateAuthority(name: "Authority \($0)") }
        var limits = Self.limits(tablesMax: 1)
        limits.chainsCachedMax = 1
        let configuration = try Self.configuration(trusting: authorities, limits)
        let verifier = Verifier(configuration: configuration)
        for authority in authorities {
            let body = try authority.sign(TransactionFields().json)
            #expect(verifier.reason(body) == nil)
            #expect(configuration.keyTables.count == 0)
            for _ in 0..<2 { #expect(verifier.reason(body) == nil) }
            #expect(configuration.keyTables.count == 1)
        }
    }
}
