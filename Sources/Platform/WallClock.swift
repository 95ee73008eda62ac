import Glibc

/// The time of day.
package enum WallClock {
    /// Milliseconds since 1970 in UTC, without leap seconds (`CLOCK_REALTIME`).
    package static var milliseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
