/// The operators' tool.
package enum PipelineTool {
    static let name = "pipeline"

    package static let tool = CommandTool(
        name,
        introduction: [
            "Operates the entitlement pipeline: signed App Store bodies in Kafka become",
            "entitlements in PostgreSQL.",
        ],
        commands: [
            .migrate, .topics, .catalogCheck, .catalogApply, .linkAdd, .linkRemove, .linkList,
            .linkJudge, .dedupeForget, .grant, .revokeGrant, .explain, .rebuild, .publish, .status,
            .reconcile,
        ]
    )
}
