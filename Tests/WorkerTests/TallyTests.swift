import Kafka
import Records
import Testing

@Suite struct TallyTests {
    private static let dispositions = StageDescription.fake.dispositions

    @Test func `the commit's text comes back as it went, unknown words included`() {
        let tally = StageTally(
            began: 120,
            counts: [.forwarded: 30, .deadLettered: 2, .skipped: 1],
            forwarded: 40
        )
        let metadata = CommitMetadata(
            tally: tally,
            acceptedSettings: "cd34",
            others: ["head": "ab12", "z": ""]
        )
        #expect(
            metadata.text
                == "v1 began=120 out=40 forwarded=30 dead_lettered=2 skipped=1 accepted=cd34 "
                + "head=ab12 z="
        )
        #expect(CommitMetadata(metadata.text, counting: Self.dispositions) == metadata)
    }

    @Test(arguments: [
        "", "v1", "v1 ", "v2 began=1", "v1 began=x", "v1 began", "began=1", "{}",
        "v1 began=0 out=x", "v1 began=0 forwarded=-1", "v1 began=0 chain=ab",
        "v1 began=0 ignored=9223372036854775808",
        "v1 began=0 accepted=" + String(repeating: "f", count: 65),
        "v1 began=0 x=" + String(repeating: "y", count: 4_096),
    ])
    func `a text of another kind is no tally`(text: String) {
        #expect(CommitMetadata(text, counting: Self.dispositions) == nil)
    }

    @Test func `the text is within its limit with every count at its largest`() {
        let most = KafkaBounds.offsets.upperBound
        let counts = Self.dispositions.map { ($0, most) }
        let tally = StageTally(
            began: most,
            counts: Dictionary(uniqueKeysWithValues: counts),
            forwarded: most
        )
        let hash = String(repeating: "f", count: 64)
        let others = ["head": hash, "unbounded": String(repeating: "x", count: 2_000)]
        let text = CommitMetadata(tally: tally, acceptedSettings: hash, others: others).text
        #expect(text.utf8.count <= CommitMetadata.bytesMax)
        #expect(text.contains("head=\(hash)") && !text.contains("unbounded"))
    }
}
