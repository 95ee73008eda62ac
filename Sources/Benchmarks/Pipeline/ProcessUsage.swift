import Foundation

/// What processes have used so far, read from `/proc`.
enum ProcessUsage {
    private static let microsecondsPerTick = 1_000_000 / Double(max(1, sysconf(Int32(_SC_CLK_TCK))))

    /// Processor time of one process, in microseconds; nil when there is no such process.
    static func cpuMicroseconds(_ processID: Int32) -> Double? {
        fields(processID).map { ticks($0, [11, 12]) * microsecondsPerTick }
    }

    /// Processor time of a process, its running children and those it has reaped.
    static func treeMicroseconds(_ processID: Int32) -> Double? {
        guard let own = fields(processID) else { return nil }
        let children = processIDs().compactMap(fields).filter { $0[1] == String(processID) }
        let childTicks = children.reduce(0) { $0 + ticks($1, [11, 12]) }
        return (ticks(own, [11, 12, 13, 14]) + childTicks) * microsecondsPerTick
    }

    /// The most memory that was ever resident, in bytes; nil when there is no such process.
    static func residentBytesMax(_ processID: Int32) -> Int? {
        guard let text = read("/proc/\(processID)/status") else { return nil }
        for line in text.split(separator: "\n") where line.hasPrefix("VmHWM:") {
            return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }
                .map { $0 * 1_024 }
        }
        return nil
    }

    /// The fields of `stat` behind the name: state, parent, and so on (proc(5)).
    private static func fields(_ processID: Int32) -> [Substring]? {
        guard let text = read("/proc/\(processID)/stat"),
            let end = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        return fields.count > 14 ? fields : nil
    }

    private static func ticks(_ fields: [Substring], _ positions: [Int]) -> Double {
        positions.reduce(0) { $0 + (Double(fields[$1]) ?? 0) }
    }

    private static func processIDs() -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }
    }

    private static func read(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}
