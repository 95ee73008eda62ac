package import Worker

/// Whether every record is accounted for, stage by stage and from topic to topic.
package struct Reconciliation: Hashable, Sendable {
    package let stages: [StageAccount]
    package let flows: [Flow]

    package init(stages: [StageAccount], flows: [Flow]) {
        self.stages = stages
        self.flows = flows
    }

    package var problems: [String] {
        stages.flatMap(\.problems) + flows.flatMap(\.problems)
    }

    package var isBalanced: Bool { problems.isEmpty }

    /// Whether nothing is left to do for any stage.
    package var isSettled: Bool { stages.allSatisfy(\.isSettled) }

    package subscript(stage: StageDescription) -> StageAccount? {
        stages.first { $0.stage == stage }
    }
}
