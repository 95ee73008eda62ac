import Foundation
import Operations
import Settings

/// `bench pipeline`.
enum PipelineCommand {
    static func run(_ arguments: some Sequence<String>, console: Console) async throws -> Int32 {
        let parsed = try PipelineOptions.syntax.parse(arguments)
        guard !parsed.isHelpWanted else {
            console.print(text: PipelineOptions.syntax.help)
            return ExitCode.success
        }
        let options = try PipelineOptions(parsed)
        var measurements: [PipelineMeasurement] = []
        for setup in options.setups {
            console.note(
                "measuring with \(setup.partitions) partitions and "
                    + "\(Quantity.grouped(setup.storedCount)) stored facts"
            )
            let rig = try await PipelineRig.build(
                bootstrap: options.kafka,
                postgres: options.postgres,
                setup,
                console: console
            )
            do {
                let benchmark = PipelineBenchmark(rig: rig, options: options, console: console)
                measurements.append(try await benchmark.run(setup))
            } catch {
                await rig.remove()
                throw error
            }
            await rig.remove()
        }
        let report = PipelineReport(measurements)
        if options.isJSON {
            console.print(json: report.json)
        } else {
            report.lines.forEach { console.print($0) }
        }
        return ExitCode.success
    }
}
