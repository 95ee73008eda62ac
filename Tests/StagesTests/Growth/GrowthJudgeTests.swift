import Testing

/// The judge of deploy/growth.sh on made-up sizes, each an hour with a sample every 36 s.
struct GrowthJudgeTests {
    private static let samples = 100

    /// A share of a whole, up or down, that looks arbitrary and is the same in every run.
    private static func noise(_ sample: Int, _ share: Double) -> Double {
        let step = Double((sample * 7_919 + 13) % 101) / 100
        return 1 + share * (2 * step - 1)
    }

    /// The size after growing by a share of the first size every ten minutes.
    private static func grown(_ size: Double, _ sample: Int, _ share: Double) -> Double {
        size * (1 + share * Double(sample) / Double(samples) * 6)
    }

    typealias Size = @Sendable (Int) -> Double

    private static let resting: [(String, GrowthJudge, Size)] = [
        ("steady", .keptRows, { _ in 100 }), ("empty", .keptRows, { _ in 0 }),
        ("grown in the first third", .keptRows, { min(100, 10 + Double($0) * 3) }),
        ("shrunk", .keptRows, { $0 < 60 ? 100 : 60 }), ("one high sample", .keptRows, { $0 == 80 ? 3 : 1.25 }),
        ("a few pages more", .keptRows, { $0 < 60 ? 0.008 : 0.065 }),
        ("up and down by a third", .passingRows, { 18 * noise($0, 0.17) }),
        // Its period is unrelated to the sampling.
        ("sawtooth", .passingRows, { 14 + Double($0 % 7) }),
        ("back to a former usual size", .passingRows, { [0.74, 0.37][$0 / 34 % 2] * noise($0, 0.03) }),
    ]

    private static let growing: [(String, GrowthJudge, Size)] = [
        ("8 MB and a percent in ten minutes", .keptRows, { grown(8, $0, 0.01) }),
        ("10 GB and a percent in ten minutes", .keptRows, { grown(10_000, $0, 0.01) * noise($0, 0.005) }),
        ("late growth", .keptRows, { $0 < 60 ? 20 : 20 + Double($0 - 60) * 0.1 }),
        ("more than a few pages", .keptRows, { $0 < 60 ? 0.008 : 0.082 }),
        ("back to a former size", .keptRows, { [0.74, 0.37][$0 / 34 % 2] }),
        ("twice the usual size", .passingRows, { $0 < 67 ? 0.37 : 0.74 }),
        ("five percent in ten minutes", .passingRows, { grown(18, $0, 0.05) * noise($0, 0.17) }),
        ("the same under a sawtooth", .passingRows, { grown(14 + Double($0 % 7), $0, 0.05) }),
    ]

    @Test func `a table is at rest unless its usual size grows`() throws {
        for (isAtRest, tables) in [(true, Self.resting), (false, Self.growing)] {
            for (name, judge, size) in tables {
                let medians = try #require(GrowthJudge.medians((0..<Self.samples).map(size)))
                #expect(judge.isAtRest(medians) == isAtRest, "\(name)")
            }
        }
        #expect(GrowthJudge.medians(Array(repeating: 1, count: 11)) == nil, "too few samples")
    }
}
