import Benchmarks
import Foundation
import Settings

exit(await BenchCommand.run(Array(CommandLine.arguments.dropFirst()), console: .standard))
