package import Settings

/// What makes one of the four workers out of the common parts.
package struct WorkerProgram: Sendable {
    /// What a stage gets to build itself from.
    package struct Parts: Sendable {
        package let settings: SettingsValues
        package let metrics: MetricsRegistry
        package let log: Log
        /// How large the stage's outputs may be, as the loop learns it.
        package let limits: OutputLimits
        /// The stage whose place the new one takes at a reload; nil at the start.
        package var predecessor: (any Stage)?
    }

    package let stage: StageName
    /// What the executable does, in a sentence.
    package let summary: String
    /// The stage's own settings.
    package let declarations: [SettingDeclaration]
    /// Those that decide what is refused; `dlq.config.sha256` is made of them.
    package let decisive: [SettingDeclaration]
    /// Those that are taken up while the worker runs; the stage is then made anew, so that only a
    /// stage that does not remember batches has any.
    package let reloadable: [SettingDeclaration]
    /// The files that these settings name, a change of which is a change of the settings.
    package let files: @Sendable (SettingsValues) -> [String]
    /// Whether readiness means a database too.
    package let hasDatabase: Bool
    package let hasBreaker: Bool
    /// Whether records may have to wait for what authorities say of their certificates.
    package let asksResponders: Bool
    /// What only the settings together show to be wrong, beside what all workers look at.
    package let problems: @Sendable (SettingsValues) -> [SettingProblem]
    /// Builds the stage; waits for nothing.
    ///
    /// A `SettingsError` ends the process at its start with what it says.
    package let make: @Sendable (Parts) throws(SettingsError) -> any Stage

    package init(
        _ stage: StageName,
        summary: String,
        declarations: [SettingDeclaration],
        decisive: [SettingDeclaration] = [],
        reloadable: [SettingDeclaration] = [],
        files: @escaping @Sendable (SettingsValues) -> [String] = { _ in [] },
        hasDatabase: Bool,
        hasBreaker: Bool = false,
        asksResponders: Bool = false,
        problems: @escaping @Sendable (SettingsValues) -> [SettingProblem] = { _ in [] },
        make: @escaping @Sendable (Parts) throws(SettingsError) -> any Stage
    ) {
        self.stage = stage
        self.summary = summary
        self.declarations = declarations
        self.decisive = decisive
        self.reloadable = reloadable
        self.files = files
        self.hasDatabase = hasDatabase
        self.hasBreaker = hasBreaker
        self.asksResponders = asksResponders
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
            + (asksResponders ? [.revocation] : [])
    }
}
