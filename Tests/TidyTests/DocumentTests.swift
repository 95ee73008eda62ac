import Foundation
import Testing

/// The documents lead a reader to an answer.
struct DocumentTests {
    /// A reader's question, the section that answers it, and a phrase of the answer.
    typealias Question = (text: String, section: String, answer: String)

    static let newcomer: [Question] = [
        ("What does it do?", "README.md#entitlement-pipeline", "what each user may use"),
        ("How do I see it run?", "README.md#try-it", "./deploy/demo.sh"),
        ("What does it guarantee?", "README.md#guarantees", "Nothing is lost"),
        ("What do I type?", "README.md#your-own-kafka-and-postgresql", "pipeline migrate"),
        ("How fast is it?", "deploy/measured.md#measured", "records/s"),
    ]
    static let integrator: [Question] = [
        ("May this user use it?", "deploy/integrating.md#what-a-user-may-use", "has_entitlement('user-17', 'pro')"),
        ("How does a user spend coins?", "deploy/integrating.md#what-a-user-may-use", "idempotent, no overdraft"),
        ("Who owns a purchase?", "deploy/integrating.md#whose-purchase-it-is", "`account_links`"),
        ("What does Apple post to?", "deploy/integrating.md#receiving", "`POST /apple`"),
        ("When may I answer the app?", "deploy/integrating.md#answering-the-app", "`correlation-id`"),
        ("How do I test with Xcode?", "deploy/testing.md#with-xcode", "certificate"),
    ]
    static let operatorOfWorkers: [Question] = [
        ("What do I do first?", "deploy/README.md#a-first-afternoon-in-order", "`pipeline topics"),
        ("What do I watch?", "deploy/README.md#monitoring", "`alerts.yaml`"),
        ("How many of everything?", "deploy/sizing.md#how-many-of-everything", "copies"),
        ("An alert woke me. What now?", "deploy/runbook.md#runbook", "alert"),
        ("A database is lost. What now?", "deploy/recovery.md#the-database-is-restored-to-an-instant", "base backup"),
    ]
    static let auditor: [Question] = [
        ("What was refused?", "deploy/auditors.md#finding", "`dead-letter count --since 7d`"),
        ("Is anything missing?", "deploy/auditors.md#finding", "`dead-letter verify`"),
        ("How is it sent again?", "deploy/auditors.md#replaying", "--send --why"),
        ("How do I prove it?", "deploy/auditors.md#proving", "`dead-letter anchor`"),
        ("What is stored about a user?", "deploy/privacy.md#what-is-stored-about-a-user", "whats"),
    ]

    @Test(arguments: [newcomer, integrator, operatorOfWorkers, auditor].flatMap(\.self))
    func `the README leads to the answer`(question: Question) throws {
        let parts = question.section.split(separator: "#").map(String.init)
        let readme = try Self.text("README.md")
        #expect(parts[0] == "README.md" || readme.contains("](\(parts[0]))"))
        let section = try #require(
            Self.sections(of: Self.text(parts[0]))[parts[1]], "\(question.text) there is no \(question.section)")
        #expect(section.contains(question.answer), "\(question.text): \(question.section)")
    }

    @Test func `the README fits three screens`() throws {
        let readme = try Self.text("README.md")
        #expect(readme.utf8.count <= 9_000)
        #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 151)
    }

    @Test func `the integrator's page links pages of one task each`() throws {
        let page = try Self.text("deploy/integrating.md")
        #expect(page.utf8.count <= 9_000)
        for task in ["catalog.md", "storekit.md", "ownership.md"] { #expect(page.contains("](\(task))"), "\(task)") }
    }

    @Test(.needsRepository) func `each link leads to a file, and to a heading where it names one`() throws {
        var count = 0
        for path in try #require(SourceTree.tracked) where path.hasSuffix(".md") {
            let folder = URL(filePath: "/" + path).deletingLastPathComponent()
            for match in try Self.text(path).matches(of: /\]\(([^)\s]+)\)/) {
                let link = match.1
                guard !link.contains("://") else { continue }
                count += 1
                let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                let target =
                    parts[0].isEmpty ? path : String(folder.appending(path: parts[0]).standardized.path.dropFirst())
                let url = SourceTree.root.appending(path: target)
                #expect(FileManager.default.fileExists(atPath: url.path), "\(path): \(link)")
                guard parts.count == 2, target.hasSuffix(".md") else { continue }
                let headings = try Self.sections(of: Self.text(target))
                #expect(headings[String(parts[1])] != nil, "\(path): \(link)")
            }
        }
        #expect(count > 60)
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: SourceTree.root.appending(path: path), encoding: .utf8)
    }

    /// The text below each heading, by the anchor that GitHub makes of the heading.
    private static func sections(of text: String) -> [String: String] {
        var sections: [String: String] = [:]
        var anchor = ""
        var isCode = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") { isCode.toggle() }
            if !isCode, line.hasPrefix("#") {
                anchor = line.drop { $0 == "#" || $0 == " " }.lowercased().filter {
                    $0.isLetter || $0.isNumber || "-_ ".contains($0)
                }.replacing(" ", with: "-")
                sections[anchor] = ""
            } else {
                sections[anchor, default: ""] += line + "\n"
            }
        }
        return sections
    }
}
