import Foundation
import Operations
import Settings

exit(await BenchCommand.run(Array(CommandLine.arguments.dropFirst()), console: .standard))
