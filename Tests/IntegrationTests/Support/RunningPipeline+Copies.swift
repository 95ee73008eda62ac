import Operations
import Records
import TestSupport
import Topology

extension RunningPipeline {
    /// Waits until every partition of stages has one reader, and every copy something to read.
    ///
    /// - Parameters:
    ///   - partitions: nil for those that the topics were made with.
    ///   - copies: how many of each stage there are.
    func waitUntilShared(partitions: Int? = nil, copies: Int, of stages: [StageDescription] = Topology.stages)
        async throws
    {
        let partitions = partitions ?? Int(layout.partitions)
        for stage in stages {
            var shares: [Int] = []
            let isShared = await becomesTrue(within: .seconds(120), every: .milliseconds(100)) {
                shares = self.copies.filter { $0.stage == stage }.compactMap {
                    $0.metric("assigned_partitions").map { Int($0) }
                }
                return shares.reduce(0, +) == partitions && shares.filter { $0 > 0 }.count == copies
            }
            guard isShared else { throw PipelineFailure("\(stage.name)'s partitions are shared out as \(shares)") }
        }
    }
}
