package import Commands
import Store

/// The operators' tool `pipeline`.
package enum PipelineTool {
    static let name = "pipeline"

    package static let tool = CommandTool(
        name,
        introduction: [
            "Operates the entitlement pipeline: signed App Store bodies in Kafka become", "entitlements in PostgreSQL.",
        ], settings: ToolSettings.known,
        rights: "the commands take the rights of the role \(DatabaseRole.operations.name), "
            + "'migrate' and 'grants' those of the schema's owner: see '\(name) grants'",
        commands: [
            .migrate, .topics, .grants, .catalogCheck, .catalogApply, .catalogRevert, .plan, .planShow, .planList,
            .linkAdd, .linkRemove, .linkList, .linkReapply, .dedupeForget, .grant, .revokeGrant, .explain, .whatsStored,
            .forget, .rebuild, .recoverFeed, .recoverApple, .refundsList, .refundsShow, .refundsCount, .refundsAnswer,
            .publish, .importPurchases, .run, .status, .reconcile, .accountState,
        ])
}
