import AppStore
import CCalls
import TestSupport
import Testing

/// The work that hostile bodies cause.
///
/// It is counted, not timed: signatures of certificates, and memory that the verifier asks for,
/// with which the work of every parser grows.
@Suite(.hopeless) struct HostileCostTests {
    private static let fixture = Result { try HostileFixture() }

    /// Bytes that the verifier asks for at most, for each byte of a body.
    ///
    /// A receipt of noise takes 127 in a debug build, the most of all.
    private static let bytesPerByteMax: Int64 = 200

    @Test func `each good body is accepted`() throws {
        let fixture = try Self.fixture.get()
        let verifier = Verifier(configuration: fixture.configuration)
        for (yardstick, body) in fixture.good {
            guard case .success(.items) = verifier.verify(body) else {
                Issue.record("the good body of \"\(yardstick.rawValue)\" is refused")
                continue
            }
        }
    }

    @Test func `the work over a hostile body is bounded by its size and its kind`() throws {
        let fixture = try Self.fixture.get()
        #expect(fixture.bodies.count > 100)
        let chain = try #require(fixture.good[.record])
        for hostile in fixture.bodies {
            let verifier = Verifier(configuration: fixture.configuration)
            _ = verifier.verify(chain)
            for body in hostile.bodies {
                guard case .failure(let refusal) = verifier.verify(body) else {
                    Issue.record("\"\(hostile.name)\" is accepted")
                    continue
                }
                #expect(refusal.reason == hostile.reason, "\(hostile.name)")
            }
            // The second time, as an attacker sends them: caches are warm.
            let signatures = own_calls_of_x509_verify()
            for body in hostile.bodies {
                let before = own_bytes_of_allocators()
                _ = verifier.verify(body)
                let bytes = own_bytes_of_allocators() - before
                #expect(bytes <= Self.bytesPerByteMax * Int64(body.count), "\(hostile.name)")
            }
            let computed = own_calls_of_x509_verify() - signatures
            #expect(
                computed <= Int64(hostile.signaturesMax * hostile.bodies.count),
                "\(hostile.name): \(computed) signatures")
        }
    }
}
