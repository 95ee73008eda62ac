import Testing

/// The judge of deploy/growth.sh on made-up sizes, each an hour with a sample every 36 s.
struct GrowthJudgeTests {
    private static let samples = 100

    private static func isAtRest(_ judge: GrowthJudge, _ size: (Int) -> Double) throws -> Bool {
        try judge.isAtRest(#require(GrowthJudge.medians((0..<samples).map(size))))
    }

    /// A share of a whole, up or down, that looks arbitrary and is the same in every run.
    private static func noise(_ sample: Int, _ share: Double) -> Double {
        let step = Double((sample * 7_919 + 13) % 101) / 100
        return 1 + share * (2 * step - 1)
    }

    /// The size after growing by a share of the first size every ten minutes.
    private static func grown(_ size: Double, _ sample: Int, _ share: Double) -> Double {
        size * (1 + share * Double(sample) / Double(samples) * 6)
    }

    @Test func `a steady table is at rest, also after it grew in the first third`() throws {
        #expect(try Self.isAtRest(.keptRows) { _ in 100 })
        #expect(try Self.isAtRest(.keptRows) { min(100, 10 + Double($0) * 3) })
        #expect(try Self.isAtRest(.keptRows) { _ in 0 })
        #expect(try Self.isAtRest(.keptRows) { $0 < 60 ? 100 : 60 })
    }

    @Test func `a table that goes up and down by a third is at rest`() throws {
        #expect(try Self.isAtRest(.passingRows) { 18 * Self.noise($0, 0.17) })
        // A sawtooth with a period unrelated to the sampling.
        #expect(try Self.isAtRest(.passingRows) { 14 + Double($0 % 7) })
    }

    @Test func `a queue may return to a former usual size, and to no other`() throws {
        let sizes = [0.74, 0.37]
        #expect(try Self.isAtRest(.passingRows) { sizes[$0 / 34 % 2] * Self.noise($0, 0.03) })
        #expect(try !Self.isAtRest(.keptRows) { sizes[$0 / 34 % 2] })
        #expect(try !Self.isAtRest(.passingRows) { $0 < 67 ? 0.37 : 0.74 })
    }

    @Test func `a single high sample decides nothing, wherever it is`() throws {
        for high in 0..<Self.samples {
            #expect(try Self.isAtRest(.keptRows) { $0 == high ? 3 : 1.25 }, "sample \(high)")
        }
    }

    @Test func `a large table that grows by a percent in ten minutes is not at rest`() throws {
        for size in [8.0, 100, 10_000] {
            #expect(try !Self.isAtRest(.keptRows) { Self.grown(size, $0, 0.01) }, "\(size) MB")
            #expect(try !Self.isAtRest(.keptRows) { Self.grown(size, $0, 0.01) * Self.noise($0, 0.005) }, "\(size) MB")
        }
    }

    @Test func `growth by five percent in ten minutes is found under a sawtooth`() throws {
        #expect(try !Self.isAtRest(.passingRows) { Self.grown(18, $0, 0.05) * Self.noise($0, 0.17) })
        #expect(try !Self.isAtRest(.passingRows) { Self.grown(14 + Double($0 % 7), $0, 0.05) })
    }

    @Test func `a table that begins to grow late is not at rest`() throws {
        #expect(try !Self.isAtRest(.keptRows) { $0 < 60 ? 20 : 20 + Double($0 - 60) * 0.1 })
    }

    @Test func `a table of a few pages may add some more, and no more than these`() throws {
        #expect(try Self.isAtRest(.keptRows) { $0 < 60 ? 0.008 : 0.065 })
        #expect(try !Self.isAtRest(.keptRows) { $0 < 60 ? 0.008 : 0.082 })
    }

    @Test func `too few samples are not judged`() {
        #expect(GrowthJudge.medians(Array(repeating: 1, count: 11)) == nil)
        #expect(GrowthJudge.medians(Array(repeating: 1, count: 12)) != nil)
        #expect(GrowthJudge.medians([]) == nil)
    }

    @Test func `tables whose rows come and go are listed, and no other is judged like them`() {
        #expect(GrowthJudge.of("revisions").shareMax == GrowthJudge.passingRows.shareMax)
        #expect(GrowthJudge.of("transactions").shareMax == GrowthJudge.keptRows.shareMax)
    }
}
