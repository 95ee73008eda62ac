import Commands
import Settings
import Testing

@testable import Operations

@Suite struct TopicLayoutTests {
    private func plan(_ name: String, _ layout: TopicLayout = TopicLayout()) throws -> TopicPlan {
        try #require(layout.plans.first { $0.name == name })
    }

    /// The plan by the options of `pipeline topics`.
    private func plan(_ name: String, _ options: [String]) throws -> TopicPlan {
        let arguments = try ToolCommand.topics.syntax.parse(options)
        return try plan(name, TopicLayout(arguments, prefix: "storekit."))
    }

    @Test func `a topic takes 2 MiB and a dead letter its headers besides`() throws {
        for plan in TopicLayout().plans {
            let bytes = plan.name == "storekit.dead-letter" ? "3145728" : "2097152"
            #expect(plan.configuration["max.message.bytes"] == bytes, "\(plan.name)")
        }
        #expect(TopicLayout().plans.count == 8)
    }

    @Test func `bodies have the broker's time, and a producer's is harmful`() throws {
        for plan in TopicLayout().plans {
            let kind = plan.name == "storekit.raw" ? "LogAppendTime" : nil
            #expect(plan.configuration["message.timestamp.type"] == kind, "\(plan.name)")
        }
        let found = TopicDifference.between(
            try plan("storekit.raw"), partitions: 8, configuration: ["message.timestamp.type": "CreateTime"])
        #expect(found.map(\.property) == ["message.timestamp.type"])
        #expect(found.allSatisfy { $0.isHarmful })
    }

    @Test func `only topics of one writer keep the writer's codec, and in others it is harmful`() throws {
        let own = ["raw", "linked", "dead-letter", "outcomes"].map { "storekit.\($0)" }
        for options in [[], ["--compression=lz4"]] {
            for name in TopicLayout().plans.map(\.name) {
                let plan = try plan(name, options)
                let codec = own.contains(name) ? "uncompressed" : options.isEmpty ? "producer" : "lz4"
                #expect(plan.configuration["compression.type"] == codec, "\(name)")
                let found = TopicDifference.between(plan, partitions: 8, configuration: ["compression.type": "gzip"])
                #expect(found.map(\.isHarmful) == [own.contains(name)], "\(name)")
            }
        }
    }

    @Test func `a replica that lags never leads a topic, and one that may is harmful`() throws {
        for plan in TopicLayout().plans {
            #expect(plan.configuration["unclean.leader.election.enable"] == "false", "\(plan.name)")
        }
        let found = TopicDifference.between(
            try plan("storekit.linked"), partitions: 8, configuration: ["unclean.leader.election.enable": "true"])
        #expect(found.map(\.property) == ["unclean.leader.election.enable"])
        #expect(found.allSatisfy { $0.isHarmful })
    }

    @Test func `of each user the newest state stays, whatever its age`() throws {
        let plan = try plan("storekit.entitlements.current")
        #expect(plan.configuration["cleanup.policy"] == "compact")
        #expect(plan.configuration["retention.ms"] == "-1")
        let changed = try self.plan("storekit.entitlements.changed")
        #expect(changed.configuration["cleanup.policy"] == "delete")
    }

    @Test func `dead letters are kept for 400 days and 32 GiB by default`() throws {
        let letters = try plan("storekit.dead-letter").configuration
        #expect(letters["retention.ms"] == String(400 * 86_400_000))
        #expect(letters["retention.bytes"] == String((32 << 30) / 8))
        #expect(letters["segment.bytes"] == String((4 << 30) / 8))
        let raw = try plan("storekit.raw").configuration
        #expect(raw["retention.ms"] == "604800000")
        #expect(raw["retention.bytes"] == nil)

        var unbounded = TopicLayout()
        unbounded.deadLetterRetentionMilliseconds = nil
        unbounded.deadLetterBytesMax = nil
        let kept = try plan("storekit.dead-letter", unbounded).configuration
        #expect(kept["retention.ms"] == "-1")
        #expect(kept["retention.bytes"] == "-1")
    }

    @Test func `dead letters beyond the limits that are given show as a difference`() throws {
        let plan = try plan("storekit.dead-letter", ["--dead-letter-retention=400d", "--dead-letter-size=32GiB"])
        let found = TopicDifference.between(
            plan, partitions: 8, configuration: ["retention.ms": "-1", "retention.bytes": "-1"])
        #expect(found.map(\.property) == ["retention.bytes", "retention.ms"])
        #expect(found.allSatisfy { !$0.isHarmful })
    }

    @Test(arguments: [
        ("raw", "--retention=7d", ["retention.ms": "2592000000"], ["retention.ms"]),
        ("raw", "--retention=7d", ["retention.ms": "-1"], ["retention.ms"]),
        ("dead-letter", "--dead-letter-retention=400d", ["retention.ms": "69120000000"], ["retention.ms"]),
        (
            "dead-letter", "--dead-letter-size=32GiB",
            ["retention.bytes": String(100 << 27), "segment.bytes": String(1 << 30)],
            ["retention.bytes", "segment.bytes"]
        ),
    ]) func `a topic that keeps more is left as it is unless its option is given`(
        topic: String, option: String, configuration: [String: String], lowered: [String]
    ) throws {
        for (options, expected) in [([], []), ([option], lowered)] {
            let found = TopicDifference.between(
                try plan("storekit.\(topic)", options), partitions: 8, configuration: configuration)
            #expect(found.map(\.property) == expected, "\(options)")
        }
    }

    @Test func `a topic that keeps less than planned is a difference without an option`() throws {
        let found = TopicDifference.between(
            try plan("storekit.dead-letter"), partitions: 8,
            configuration: ["retention.ms": "1", "retention.bytes": "1", "segment.bytes": "1"])
        #expect(found.map(\.property) == ["retention.bytes", "retention.ms", "segment.bytes"])
    }

    @Test func `the size of all dead letters is shared by the partitions that there are`() throws {
        let found = TopicDifference.between(
            try plan("storekit.dead-letter", ["--dead-letter-size=64GiB"]), partitions: 4,
            configuration: ["retention.bytes": "1", "segment.bytes": "1"])
        let planned = Dictionary(uniqueKeysWithValues: found.map { ($0.property, $0.planned) })
        #expect(planned["retention.bytes"] == String((64 << 30) / 4))
        #expect(planned["segment.bytes"] == String(1 << 30))
    }

    @Test func `with three copies a write waits for two of them`() throws {
        var layout = TopicLayout()
        layout.prefix = "t."
        #expect(try plan("t.raw", layout).configuration["min.insync.replicas"] == nil)
        layout.replication = 3
        #expect(try plan("t.raw", layout).configuration["min.insync.replicas"] == "2")
    }

    @Test func `a topic as planned shows no difference`() throws {
        let plan = try plan("storekit.raw")
        let found = TopicDifference.between(
            plan, partitions: 8, configuration: plan.configuration.merging(["segment.bytes": "1"]) { $1 })
        #expect(found.isEmpty)
    }

    @Test func `what a cluster does not say is not compared`() throws {
        let found = TopicDifference.between(try plan("storekit.raw"), partitions: 8, configuration: [:])
        #expect(found.isEmpty)
    }

    @Test func `a smaller limit and a compacted topic are harmful, a longer retention is not`() throws {
        let plan = try plan("storekit.raw", ["--retention=7d"])
        let found = TopicDifference.between(
            plan, partitions: 4,
            configuration: ["max.message.bytes": "1048588", "retention.ms": "-1", "cleanup.policy": "compact"])
        #expect(found.filter(\.isHarmful).map(\.property) == ["cleanup.policy", "max.message.bytes"])
        #expect(found.filter { !$0.isHarmful }.map(\.property) == ["partitions", "retention.ms"])
        #expect(found.last?.description == "storekit.raw: retention.ms is -1, planned 604800000")
    }
}
