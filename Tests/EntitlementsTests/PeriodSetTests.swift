import AppStore
import Entitlements
import Testing
import Simulation

struct PeriodSetTests {
    @Test func `it holds exactly the instants of its periods, in any order of insertion`() {
        var random = SeededGenerator(seed: 11)
        for _ in 0..<2000 {
            let periods = (0..<Int.random(in: 0...7, using: &random)).map { _ in Self.period(using: &random) }
            let set = PeriodSet(periods)
            for instant in -1...31 as ClosedRange<Int64> {
                let date = Timestamp(milliseconds: instant)
                #expect(set.contains(date) == periods.contains { $0.contains(date) })
            }
            #expect(set == PeriodSet(periods.shuffled(using: &random)))
            expectNormalised(set)
        }
    }

    @Test func `clipping keeps the periods in between`() {
        let set = PeriodSet([Self.period(0, 10), Self.period(20, nil)])
        let clipped = set.clipped(from: Timestamp(milliseconds: 5), until: Timestamp(milliseconds: 25))
        #expect(clipped == PeriodSet([Self.period(5, 10), Self.period(20, 25)]))
        #expect(set.clipped(from: nil, until: nil) == set)
        #expect(set.clipped(from: Timestamp(milliseconds: 10), until: Timestamp(milliseconds: 20)).isEmpty)
    }

    private func expectNormalised(_ set: PeriodSet) {
        for (left, right) in zip(set.periods, set.periods.dropFirst()) {
            #expect(left.end.map { $0 < right.start } ?? false)
        }
        #expect(!set.periods.contains { $0.isEmpty })
    }

    private static func period(using random: inout SeededGenerator) -> Period {
        let start = Int64.random(in: 0...25, using: &random)
        let isEndless = Int.random(in: 0..<10, using: &random) == 0
        return period(start, isEndless ? nil : start + Int64.random(in: -2...6, using: &random))
    }

    private static func period(_ start: Int64, _ end: Int64?) -> Period {
        Period(start: Timestamp(milliseconds: start), end: end.map { Timestamp(milliseconds: $0) })
    }
}
