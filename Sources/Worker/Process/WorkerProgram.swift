package import Settings

/// What makes one of the four workers out of the common parts.
package struct WorkerProgram: Sendable {
    /// What a stage gets to build itself from.
    package struct Parts: Sendable {
        package let settings: SettingsValues
        package let metrics: MetricsRegistry
        package let log: Log
    }

    package let stage: StageName
    /// What the executable does, in a sentence.
    package let summary: String
    /// The stage's own settings.
    package let declarations: [SettingDeclaration]
    /// Those that decide what is refused; `dlq.config.sha256` is made of them.
    package let decisive: [SettingDeclaration]
    /// Whether readiness means a database too.
    package let hasDatabase: Bool
    package let hasBreaker: Bool
    /// What only the settings together show to be wrong, beside what all workers look at.
    package let problems: @Sendable (SettingsValues) -> [SettingProblem]
    /// Builds the stage; waits for nothing.
    ///
    /// A `SettingsError` ends the process with what it says.
    package let make: @Sendable (Parts) throws -> any Stage

    package init(
        _ stage: StageName,
        summary: String,
        declarations: [SettingDeclaration],
        decisive: [SettingDeclaration] = [],
        hasDatabase: Bool,
        hasBreaker: Bool = false,
        problems: @escaping @Sendable (SettingsValues) -> [SettingProblem] = { _ in [] },
        make: @escaping @Sendable (Parts) throws -> any Stage
    ) {
        self.stage = stage
        self.summary = summary
        self.declarations = declarations
        self.decisive = decisive
        self.hasDatabase = hasDatabase
        self.hasBreaker = hasBreaker
        self.problems = problems
        self.make = make
    }

    package var schema: SettingsSchema {
        WorkerSettings.schema(
            adding: declarations + (hasBreaker ? WorkerSettings.breakerDeclarations : [])
        )
    }

    var conditions: [HealthCondition] {
        [.assigned, .broker] + (hasDatabase ? [.database] : []) + (hasBreaker ? [.breaker] : [])
    }
}
