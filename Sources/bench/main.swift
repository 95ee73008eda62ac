import Foundation
import Operations

exit(BenchCommand.run(Array(CommandLine.arguments.dropFirst()), console: .standard))
