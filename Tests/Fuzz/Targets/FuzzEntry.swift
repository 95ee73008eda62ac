import Foundation

/// The entry point of libFuzzer.
///
/// The environment says what is fuzzed (`FUZZ_TARGET`), and where good inputs are to be written
/// before libFuzzer looks for some (`FUZZ_SEEDS`).
enum FuzzEntry {
    /// libFuzzer calls from one thread.
    nonisolated(unsafe) static var rig: FuzzRig?

    static func start() throws {
        let environment = ProcessInfo.processInfo.environment
        guard let target = environment["FUZZ_TARGET"].flatMap(FuzzTarget.init(rawValue:)) else {
            let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: ", ")
            preconditionFailure("FUZZ_TARGET has to be one of \(names)")
        }
        let rig = try FuzzRig(target)
        if let folder = environment["FUZZ_SEEDS"] {
            for (index, seed) in try rig.seeds.enumerated() {
                try Data(seed).write(to: URL(filePath: "\(folder)/seed-\(index)"))
            }
        }
        self.rig = rig
        guard target == .signature else { return }
        atexit {
            let count = FuzzEntry.rig?.comparisonsCount ?? 0
            FileHandle.standardError.write(Data("comparisons: \(count)\n".utf8))
        }
    }
}

@_cdecl("LLVMFuzzerInitialize") func initializeFuzzing(
    _ count: UnsafeMutablePointer<Int32>?, _ arguments: UnsafeMutableRawPointer?
) -> Int32 {
    do {
        try FuzzEntry.start()
        return 0
    } catch { preconditionFailure("the fuzz target cannot start: \(error)") }
}

@_cdecl("LLVMFuzzerTestOneInput") func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    FuzzEntry.rig?.run(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}
