import Glibc

/// The time of day.
package enum WallClock {
    /// Milliseconds since 1970 in UTC, without leap seconds (`CLOCK_REALTIME`).
    package static var milliseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Returns the time from `time` to `now`, in milliseconds; 0 if `time` is after `now`.
    ///
    /// An age that exceeds `Int64` is `Int64.max`.
    package static func age(of time: Int64, at now: Int64) -> Int64 {
        guard time < now else { return 0 }
        let (age, isTooLong) = now.subtractingReportingOverflow(time)
        return isTooLong ? .max : age
    }
}
