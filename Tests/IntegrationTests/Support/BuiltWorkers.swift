import Foundation
import Records
import Testing
import Topology

/// The workers' executables, as the build has put them beside this test bundle.
enum BuiltWorkers {
    static let folder: String = {
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = own ?? CommandLine.arguments[0]
        return URL(filePath: path).deletingLastPathComponent().path
    }()

    static func path(of stage: StageDescription) -> String { "\(folder)/\(stage.program)" }

    /// Workers that have not been built.
    static let missing = Topology.stages.map(\.program).filter { program in
        !FileManager.default.isExecutableFile(atPath: "\(folder)/\(program)")
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test if the workers have not been built, and says so.
    static var needsBuiltWorkers: Self {
        .enabled(
            if: BuiltWorkers.missing.isEmpty,
            "\(BuiltWorkers.missing) not in \(BuiltWorkers.folder): run 'swift build' first")
    }
}
