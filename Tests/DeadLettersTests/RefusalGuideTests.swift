import AppStore
import DeadLetters
import Testing

@Suite struct RefusalGuideTests {
    /// A forgotten reason would show the rule and the advice of another.
    @Test func `each reason has a text of its own`() {
        let guides = RefusalReason.allCases.map { RefusalGuide($0) }
        for (reason, guide) in zip(RefusalReason.allCases, guides) {
            #expect(guides.count { $0 == guide } == 1, "\(reason.rawValue): \(guide.rule)")
        }
    }
}
