import AppStore
import Kafka
import Records
import Testing

@Suite struct TallyTests {
    private static let dispositions = StageDescription.fake.dispositions

    @Test func `the commit's text comes back as it went, unknown words included`() {
        let tally = StageTally(began: 120, counts: [.forwarded: 30, .deadLettered: 2, .skipped: 1], forwarded: 40)
        let metadata = CommitMetadata(tally: tally, acceptedSettings: "cd34", others: ["head": "ab12", "z": ""])
        #expect(
            metadata.text == "v1 began=120 out=40 forwarded=30 dead_lettered=2 skipped=1 accepted=cd34 "
                + "head=ab12 z=")
        #expect(CommitMetadata(metadata.text, counting: Self.dispositions) == metadata)
    }

    @Test func `a statement comes back with its tally, and a text of another cluster does not`() throws {
        let reason = "read by the old cluster = lost, we think (é)"
        let statement = try #require(AccountStatement(at: .latest, by: "eva klein", reason: reason))
        let metadata = CommitMetadata(tally: StageTally(began: 7), cluster: "Some-ID_22", statement: statement)
        #expect(metadata.text.split(separator: " ").count == 5)
        #expect(CommitMetadata(metadata.text, counting: Self.dispositions) == metadata)
        func read(in cluster: String) -> CommitMetadata? {
            CommitMetadata(metadata.text, counting: Self.dispositions, in: cluster)
        }
        #expect(read(in: "Some-ID_22") == metadata)
        #expect(read(in: "another") == nil)
        // Brokers that name no cluster leave their addresses.
        #expect(read(in: "10.0.0.1:9092,10.0.0.2:9092") == metadata)
        let addressed = CommitMetadata(tally: StageTally(began: 7), cluster: "10.0.0.1:9092")
        #expect(addressed.text == "v1 began=7 out=0")
    }

    @Test(arguments: [
        ("", "lost"), ("eva", ""), (String(repeating: "e", count: 65), "lost"),
        ("eva", String(repeating: "l", count: 257)), ("eva", "lost\nfound"),
    ]) func `a statement lacks neither name nor reason, and is short`(by: String, reason: String) {
        #expect(AccountStatement(at: .earliest, by: by, reason: reason) == nil)
    }

    @Test(arguments: [
        "v1 began=0 stated=3", "v1 began=0 stated=zz", "v1 began=0 stated=", "v1 began=0 stated=300a650a",
        "v1 began=0 cluster=" + String(repeating: "f", count: 65), "", "v1", "v1 ", "v2 began=1", "v1 began=x",
        "v1 began", "began=1", "{}", "v1 began=0 out=x", "v1 began=0 forwarded=-1", "v1 began=0 chain=ab",
        "v1 began=0 ignored=9223372036854775808", "v1 began=0 accepted=" + String(repeating: "f", count: 65),
        "v1 began=0 x=" + String(repeating: "y", count: 4_096),
    ]) func `a text of another kind is no tally`(text: String) {
        #expect(CommitMetadata(text, counting: Self.dispositions) == nil)
    }

    @Test func `the text is within its limit with every count at its largest`() {
        let most = KafkaBounds.offsets.upperBound
        let counts = Self.dispositions.map { ($0, most) }
        let tally = StageTally(began: most, counts: Dictionary(uniqueKeysWithValues: counts), forwarded: most)
        let hash = String(repeating: "f", count: 64)
        let others = ["head": hash, "unbounded": String(repeating: "x", count: 2_000)]
        let reason = String(repeating: "l", count: AccountStatement.reasonBytesMax)
        let by = String(repeating: "e", count: AccountStatement.byBytesMax)
        let text = CommitMetadata(
            tally: tally, acceptedSettings: hash, cluster: String(repeating: "c", count: 64),
            statement: AccountStatement(at: .latest, by: by, reason: reason), others: others
        ).text
        #expect(text.contains(" stated="))
        #expect(text.utf8.count <= CommitMetadata.bytesMax)
        #expect(text.contains("head=\(hash)") && !text.contains("unbounded"))
    }
}
