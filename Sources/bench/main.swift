import Foundation
import Operations

exit(await BenchCommand.run(Array(CommandLine.arguments.dropFirst()), console: .standard))
