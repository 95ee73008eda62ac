import Glibc
import Platform
import Release
package import Telemetry

/// The build of this process, and its CPU time and memory, which each exposition reads from the kernel.
package enum ProcessMetrics {
    package static func declare(in registry: MetricsRegistry) {
        registry.measured(
            "process_cpu_seconds_total", "CPU time of this process, user and system together.", type: "counter"
        ) {
            let usage = usage()
            return seconds(usage.ru_utime) + seconds(usage.ru_stime)
        }
        let build = registry.gauge(
            "build_info", "1, with the version and the commit of this program as labels.",
            labels: ["version", "commit"])
        build[Release.version, Release.commit].set(1)
        let start = Double(WallClock.milliseconds) / 1_000
        registry.measured("process_start_time_seconds", "When this process began, in UNIX time.", type: "gauge") {
            start
        }
        registry.measured("process_resident_memory_bytes", "Memory of this process that is resident.", type: "gauge") {
            Double(residentBytes())
        }
        registry.measured(
            "process_resident_memory_peak_bytes", "The most memory of this process that was ever resident.",
            type: "gauge"
        ) { Double(usage().ru_maxrss) * 1024 }
    }

    private static func usage() -> rusage {
        var usage = rusage()
        return getrusage(Int32(RUSAGE_SELF.rawValue), &usage) == 0 ? usage : rusage()
    }

    private static func residentBytes() -> Int {
        let statm = (try? InputFile(path: "/proc/self/statm")?.readWhole(atMost: 4_096)) ?? []
        let fields = String(decoding: statm, as: UTF8.self).split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return 0 }
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
}
