import AppStore
import OpenSSL
import Testing

extension Verifier {
    /// A verifier of one app, whose custom roots vouch for their environment only.
    static func of(_ bundleID: String, _ environment: Environment, roots: [Certificate] = []) -> Verifier {
        let app = ConfiguredApp(bundleID: Identifier(bundleID), environment: environment, appAppleID: 1, roots: roots)
        return Verifier(configuration: VerifierConfiguration(apps: [app]))
    }

    /// The reason for refusing a body.
    ///
    /// `nil` if it is accepted.
    func reason(_ body: [UInt8]?) -> RefusalReason? {
        switch verify(body) {
        case .success: nil
        case .failure(let refusal): refusal.reason
        }
    }

    func reason(_ body: String) -> RefusalReason? { reason(Array(body.utf8)) }

    /// The items of a body that must be accepted with at least one.
    func items(_ body: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) throws -> [VerifiedItem] {
        switch verify(body) {
        case .success(.items(let items)): return items
        case .success(.ignored): Issue.record("the body was ignored", sourceLocation: sourceLocation)
        case .success(.undetermined): Issue.record("the body has to wait", sourceLocation: sourceLocation)
        case .failure(let refusal):
            Issue.record("refused: \(refusal.reason.rawValue), \(refusal.detail)", sourceLocation: sourceLocation)
        }
        return []
    }

    /// The refusal of a body that must be refused.
    func refusal(_ body: [UInt8]?, sourceLocation: SourceLocation = #_sourceLocation) throws -> Refusal {
        switch verify(body) {
        case .success:
            let comment: Comment = "the body was accepted"
            Issue.record(comment, sourceLocation: sourceLocation)
            return Refusal(reason: .observationMalformed, detail: "accepted")
        case .failure(let refusal): return refusal
        }
    }
}
