import Platform
import Testing

struct WallClockTests {
    @Test(arguments: [
        (Int64(1_000), Int64(1_500), Int64(500)), (1_500, 1_000, 0), (0, 0, 0), (.min, .max, .max), (.max, .min, 0),
        (.min, 0, .max), (.min + 1, 0, .max), (0, .max, .max),
    ]) func `any two times have an age`(time: Int64, now: Int64, age: Int64) {
        #expect(WallClock.age(of: time, at: now) == age)
    }
}
