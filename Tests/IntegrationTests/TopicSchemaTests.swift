import AppStore
import JSON
import OpenSSL
import TestSupport
import Testing

@Suite struct TopicSchemaTests {
    @Test func `every example of every topic's schema is valid`() async throws {
        let verdict = try await TopicSchema.validateExamples()
        #expect(verdict.isValid, "\(verdict.report)")
    }

    @Test func `a schema refuses what its topic never carries`() async throws {
        let verdict = try await TopicSchema.validate([Array("{}".utf8)], against: "verified")
        #expect(!verdict.isValid)
    }
}
